package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.testkit.JavaProcess;
import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Client commands as processes of their own. */
@Tag("any-jdk")
@Timeout(60)
final class ClientProcessTest {
  @TempDir static Path dir;
  private static CliServer server;
  private final List<Process> started = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    server = new CliServer(dir, null);
    server.ok("queue", "create", "q");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @AfterEach
  void endAll() {
    started.forEach(Process::destroyForcibly);
  }

  private Process sluice(List<String> jvm, String... arguments) throws Exception {
    List<String> command = JavaProcess.command(jvm, Sluice.class, List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(server.environment());
    Process process = builder.start();
    started.add(process);
    return process;
  }

  @Test
  void client_loadsNoServerClasses() throws Exception {
    Process list = sluice(List.of("-Xlog:class+load"), "queue", "list");
    List<String> lines = list.inputReader().lines().toList();
    assertThat(list.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(list.exitValue()).isZero();
    assertThat(list.errorReader().lines()).isEmpty();
    assertThat(lines).anyMatch(line -> line.matches("q +0 +0 +0"));
    List<String> loaded = lines.stream().filter(line -> line.contains(" source: ")).toList();
    assertThat(loaded).anyMatch(line -> line.contains(" dev.sluice.client.SluiceClient "));
    for (String other :
        List.of("dev.sluice.server.", "dev.sluice.broker.", "org.rocksdb.", "ch.qos.logback.")) {
      assertThat(loaded).noneMatch(line -> line.contains(" " + other));
    }
  }

  @Test
  void unknownHost_isReportedInOneSentence() throws Exception {
    Process list = sluice(List.of(), "queue", "list", "--server", "nowhere.invalid:5555");
    assertThat(list.errorReader().lines())
        .singleElement()
        .asString()
        .startsWith(
            "sluice queue list: cannot reach a server at nowhere.invalid:5555: unknown host;");
    assertThat(list.waitFor()).isEqualTo(ExitCodes.UNREACHABLE);
  }

  @Test
  void follow_closedOutput_endsQuietlyAndLosesNoMessage() throws Exception {
    Process follow = sluice(List.of(), "message", "receive", "q", "--follow", "--ack");
    server.ok("message", "send", "q", "first");
    BufferedReader output = follow.inputReader();
    assertThat(output.readLine()).isEqualTo("first");
    output.close();
    server.ok("message", "send", "q", "second");
    assertThat(follow.waitFor(30, TimeUnit.SECONDS)).isTrue();
    try (Stream<String> said = follow.errorReader().lines()) {
      assertThat(said).isEmpty();
    }
    assertThat(follow.exitValue()).isZero();
    assertThat(server.ok("message", "receive", "q", "--wait", "20s", "--ack"))
        .isEqualTo("second\n");
  }
}
