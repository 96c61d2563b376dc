package dev.sluice.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Runs the tests of {@code src/test/browser} with node, in chromium. */
final class BrowserSuite {
  private static final Path SOURCES = Path.of("src", "test", "browser");
  private static final Path WORK = Path.of("target", "browser");
  private static final Path SCREENSHOTS = Path.of("target", "screenshots");
  private static final Path RESULTS = WORK.resolve("results.jsonl");
  private static final String OUTPUT = "output.txt";
  private static final String LOCK = "package-lock.json";

  /** Far more than it takes: a browser that hangs is no reason to wait for ever. */
  private static final long MINUTES = 8;

  private BrowserSuite() {}

  /** The result of one test; a skipped test has not passed. */
  record Result(String name, long millis, boolean passed, String error) {}

  /**
   * Runs them all, or those whose names match.
   *
   * @param environment where the servers are
   * @param part {@code views}, or {@code speed}, which measures
   * @param pattern a regular expression found in a name; empty for all
   */
  static List<Result> run(Map<String, String> environment, String part, String pattern)
      throws IOException, InterruptedException {
    Files.createDirectories(WORK);
    // Test classes run in processes of their own, and all use this folder.
    try (FileChannel lock =
        FileChannel.open(
            WORK.resolve(".lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      lock.lock();
      return runAlone(environment, part, pattern);
    }
  }

  private static List<Result> runAlone(Map<String, String> environment, String part, String pattern)
      throws IOException, InterruptedException {
    String node = command("node");
    String browser = command("chromium", "google-chrome-stable", "google-chrome");
    prepare();
    ProcessBuilder tests =
        new ProcessBuilder(
            node,
            "--test-reporter=./reporter.mjs",
            "--test-reporter-destination=" + RESULTS.getFileName(),
            "suite.mjs");
    tests.environment().putAll(environment);
    tests.environment().put("SLUICE_PART", part);
    tests.environment().put("SLUICE_TESTS", pattern);
    tests.environment().put("SLUICE_CHROMIUM", browser);
    tests.environment().put("SLUICE_SCREENSHOTS", SCREENSHOTS.toAbsolutePath().toString());
    int code = await(tests);
    System.out.println(output());
    List<Result> results = results();
    results.forEach(
        each -> System.out.printf(Locale.ROOT, "%6d ms  %s%n", each.millis(), each.name()));
    if (code != 0 && results.stream().allMatch(Result::passed)) {
      throw new IOException("node ended with %d and reported no failed test".formatted(code));
    }
    return results;
  }

  private static String command(String... names) {
    String path = Objects.requireNonNullElse(System.getenv("PATH"), "");
    for (String name : names) {
      for (String folder : path.split(File.pathSeparator, -1)) {
        Path found = Path.of(folder, name);
        if (Files.isExecutable(found)) {
          return found.toString();
        }
      }
    }
    throw new IllegalStateException(
        "tests of the console need %s on the PATH (./test installs what is absent)"
            .formatted(String.join(" or ", names)));
  }

  /** Copies the sources beside the libraries; npm installs these if they are not those before. */
  private static void prepare() throws IOException, InterruptedException {
    Files.createDirectories(SCREENSHOTS);
    Files.deleteIfExists(RESULTS);
    // npm writes this file last: an interrupted installation is repeated.
    boolean installed =
        Files.exists(WORK.resolve("node_modules").resolve(".package-lock.json"))
            && Files.exists(WORK.resolve(LOCK))
            && Files.mismatch(SOURCES.resolve(LOCK), WORK.resolve(LOCK)) < 0;
    if (!installed) {
      copy("package.json");
      Files.copy(SOURCES.resolve(LOCK), WORK.resolve(LOCK), StandardCopyOption.REPLACE_EXISTING);
      int code =
          await(
              new ProcessBuilder(
                  command("npm"), "ci", "--ignore-scripts", "--prefer-offline", "--no-audit"));
      if (code != 0) {
        Files.delete(WORK.resolve(LOCK));
        throw new IOException("npm ci ended with " + code + ": " + output());
      }
    }
    try (Stream<Path> files = Files.list(SOURCES)) {
      for (Path each : files.filter(file -> file.toString().endsWith(".mjs")).toList()) {
        copy(each.getFileName().toString());
      }
    }
  }

  private static void copy(String file) throws IOException {
    Files.copy(SOURCES.resolve(file), WORK.resolve(file), StandardCopyOption.REPLACE_EXISTING);
  }

  /** Returns its exit status; {@link #output} has what it prints. */
  private static int await(ProcessBuilder command) throws IOException, InterruptedException {
    Process process =
        command
            .directory(WORK.toFile())
            .redirectErrorStream(true)
            .redirectOutput(WORK.resolve(OUTPUT).toFile())
            .start();
    try {
      if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
        throw new IOException(
            "%s took more than %d minutes: %s".formatted(command.command(), MINUTES, output()));
      }
      return process.exitValue();
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  /** The output of the last command. */
  private static String output() throws IOException {
    return Files.readString(WORK.resolve(OUTPUT), UTF_8).strip();
  }

  private static List<Result> results() throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    List<Result> results = new ArrayList<>();
    for (String line : Files.exists(RESULTS) ? Files.readAllLines(RESULTS) : List.<String>of()) {
      results.add(mapper.readValue(line, Result.class));
    }
    return results;
  }
}
