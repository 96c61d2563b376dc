package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sentences of the scripts at the root where something they need is missing. */
@Tag("any-jdk")
final class LaunchScriptTest {
  @TempDir private Path root;

  @BeforeEach
  void copyScripts() throws IOException {
    Files.createDirectory(root.resolve("bin"));
    try (Stream<Path> files = Files.list(Path.of("../bin"))) {
      for (Path file : files.toList()) {
        Files.copy(file, root.resolve("bin").resolve(file.getFileName()));
      }
    }
    Files.copy(Path.of("../sluice"), root.resolve("sluice"));
    Files.createFile(root.resolve("pom.xml"));
    Files.createDirectories(root.resolve("sluice-cli/src/main"));
    Files.createFile(root.resolve("sluice-cli/pom.xml"));
  }

  private void assertRefused(Path javaHome, String... words) throws Exception {
    ProcessBuilder builder = new ProcessBuilder("bash", root.resolve("sluice").toString());
    builder.environment().put("JAVA_HOME", javaHome.toString());
    Process sluice = builder.redirectErrorStream(true).start();
    List<String> lines = sluice.inputReader().lines().toList();
    assertThat(sluice.waitFor()).isEqualTo(1);
    assertThat(lines).singleElement().asString().contains(words);
  }

  /** A folder with a command {@code java} of that version. */
  private Path java(String version) throws IOException {
    Path home = root.resolve("java " + version);
    Files.createDirectories(home.resolve("bin"));
    Path java = Files.createFile(home.resolve("bin/java"));
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.writeString(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
    return home;
  }

  /** The scripts build with {@code -Dmaven.test.skip}, which makes no jar of tests. */
  @Test
  void modules_dependOnNoTestJar() throws IOException {
    try (Stream<Path> modules = Files.list(Path.of(".."))) {
      for (Path pom : modules.map(module -> module.resolve("pom.xml")).toList()) {
        if (Files.exists(pom)) {
          String model = Files.readString(pom);
          int profiles = model.indexOf("<profiles>");
          assertThat(profiles < 0 ? model : model.substring(0, profiles))
              .as(pom.toString())
              .doesNotContain("<type>test-jar</type>");
        }
      }
    }
  }

  @Test
  void missingJava_isReportedWithTheRequiredVersion() throws Exception {
    Path absent = root.resolve("absent");
    assertRefused(
        absent, "Java 17 or newer is needed", "no '" + absent + "/bin/java'", "JAVA_HOME");
  }

  @Test
  void oldJava_isReported() throws Exception {
    assertRefused(java("11.0.2"), "Java 17 or newer is needed", "/bin/java' is 11: ");
    assertRefused(java("1.8.0_392"), "/bin/java' is 1: ");
  }

  @Test
  void unwritableTarget_failsTheBuild() throws Exception {
    Path target = Files.createFile(root.resolve("sluice-cli/target"));
    assertRefused(java("17.0.1"), "sluice-cli must be built", "written in " + target + ": ");
  }

  @Test
  void unwritableTarget_usesTheExistingBuild() throws Exception {
    Path target = Files.createDirectory(root.resolve("sluice-cli/target"));
    Files.createFile(target.resolve("sluice-cli.jar"));
    Files.createFile(target.resolve(".built"));
    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("r-xr-xr-x"));
    try {
      assertRefused(root.resolve("absent"), "Java 17 or newer is needed");
    } finally {
      Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
  }

  /**
   * Runs a script as a user who is not root and has no sudo; on the PATH is what it needs to start.
   */
  private Process runWithoutRoot(String script, String... arguments) throws IOException {
    Files.copy(Path.of("..").resolve(script), root.resolve(script));
    Path tools = Files.createDirectory(root.resolve("tools " + script));
    for (String tool : List.of("bash", "dirname", "readlink")) {
      Files.createSymbolicLink(tools.resolve(tool), Path.of("/usr/bin", tool));
    }
    Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwxr-xr-x"));
    List<String> command = new ArrayList<>();
    if (System.getProperty("user.name").equals("root")) {
      command.addAll(
          List.of("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
    }
    command.addAll(List.of("/usr/bin/bash", root.resolve(script).toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("PATH", tools.toString());
    return builder.start();
  }

  private static void assertPackagesAreNamed(Process script, String packages) throws Exception {
    List<String> lines = script.inputReader().lines().toList();
    assertThat(lines)
        .containsExactly(
            "these packages are missing, and only root can install them: apt-get install "
                + packages);
    assertThat(script.waitFor()).isEqualTo(2);
  }

  @Test
  void withoutRootAndSudo_missingPackagesAreNamed() throws Exception {
    assertPackagesAreNamed(
        runWithoutRoot("test"), "curl openssl redis-server faketime strace chromium nodejs npm");
    assertPackagesAreNamed(runWithoutRoot("bench", "server"), "rabbitmq-server nats-server");
  }
}
