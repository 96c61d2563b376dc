package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.NanoClock;
import dev.sluice.cli.demo.DemoModelCallers;
import dev.sluice.cli.demo.DemoRunner;
import dev.sluice.cli.demo.DemoScenario;
import dev.sluice.cli.demo.DemoServer;
import dev.sluice.cli.demo.DemoTenants;
import dev.sluice.cli.demo.DemoTraffic;
import dev.sluice.cli.demo.MessageLog;
import dev.sluice.cli.runtime.CommandFailedException;
import dev.sluice.cli.runtime.CommandTimer;
import dev.sluice.cli.runtime.SystemCommandTimer;
import dev.sluice.client.SluiceClient;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.JavaProcess;
import java.io.BufferedReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The demo on a real server, which is a process of its own. */
@Tag("any-jdk")
@Timeout(180)
final class DemoCommandTest {
  @TempDir private Path dir;
  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void endAll() {
    started.forEach(Process::destroyForcibly);
  }

  /** A demo whose temporary files are in {@code temporary}. */
  private Process demo(Path temporary, String... arguments) throws Exception {
    List<String> words = new ArrayList<>(List.of("demo"));
    words.addAll(List.of(arguments));
    List<String> command =
        JavaProcess.command(List.of("-Djava.io.tmpdir=" + temporary), Sluice.class, words);
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    started.add(process);
    return process;
  }

  /** The whole command: every figure is of a server that was killed. */
  @Test
  @SuppressWarnings("unchecked")
  void quick_passesEveryCheck() {
    Cli cli =
        Cli.run(new Cli.Setting().timer(SystemCommandTimer::new), "demo", "--quick", "--json");
    assertThat(cli.err()).isEmpty();
    Map<String, Object> figures = cli.json();
    assertThat(figures.get("problems")).isEqualTo(List.of());
    assertThat(cli.exitCode()).isZero();
    assertThat(figures).containsEntry("passed", true).containsEntry("quick", true);
    assertThat((double) figures.get("quietTimesShorterThanFifo")).isGreaterThanOrEqualTo(20);

    Map<String, Object> messages = (Map<String, Object>) figures.get("messages");
    assertThat(messages)
        .containsEntry("lost", 0L)
        .containsEntry("left", 0L)
        .containsEntry("returnedAfterAck", 0L)
        .containsEntry("delivered", messages.get("acknowledged"));
    List<Map<String, Object>> tenants = (List<Map<String, Object>>) figures.get("tenants");
    assertThat(tenants).extracting(each -> each.get("tenant")).containsExactly("noisy", "quiet");
    assertThat(tenants.get(0)).containsEntry("sent", 2_700L).containsEntry("delivered", 2_700L);
    assertThat((long) tenants.get(1).get("sent")).isGreaterThan(20);

    Map<String, Object> provider = (Map<String, Object>) figures.get("provider");
    assertThat(provider).containsEntry("withinLimit", true);
    assertThat((long) provider.get("granted"))
        .isGreaterThanOrEqualTo((long) messages.get("delivered"));
    Map<String, Object> crash = (Map<String, Object>) figures.get("crash");
    assertThat((long) crash.get("readyAfterMillis")).isGreaterThan((long) crash.get("afterMillis"));
    assertThat((long) crash.get("nothingGrantedMillis")).isPositive();
    Map<String, Object> model = (Map<String, Object>) figures.get("model");
    assertThat(model).containsEntry("withinLimit", true);
    assertThat((List<Map<String, Object>>) model.get("classes"))
        .extracting(each -> each.get("class"))
        .containsExactly("P0_clinical", "P1_user", "P2_batch");
  }

  /** Until the demo plays; returns its server. */
  private static ProcessHandle awaitPlaying(Process demo) throws Exception {
    BufferedReader output = demo.inputReader();
    List<String> said = new ArrayList<>();
    for (String line; (line = output.readLine()) != null; said.add(line)) {
      if (line.contains("noisy sends")) {
        return demo.children().findAny().orElseThrow();
      }
    }
    throw new AssertionError("never played: " + said);
  }

  @Test
  @Tag("long") // starts several demos
  void terminatedOrKilledDemo_leavesNoServer() throws Exception {
    Path first = Files.createDirectory(dir.resolve("first"));
    Path second = Files.createDirectory(dir.resolve("second"));
    Process terminated = demo(first, "--quick");
    Process killed =
        demo(second, "--quick", "--http-port", "" + anyPort(), "--grpc-port", "" + anyPort());
    ProcessHandle itsServer = awaitPlaying(terminated);
    assertThat(first).isNotEmptyDirectory();
    terminated.toHandle().destroy();
    assertThat(terminated.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(terminated.exitValue()).isEqualTo(128 + 15);
    assertThat(itsServer.isAlive()).isFalse();
    assertThat(first).isEmptyDirectory();

    ProcessHandle orphan = awaitPlaying(killed);
    killed.destroyForcibly();
    Await.until("the end of the orphan", () -> !orphan.isAlive());
  }

  @Test
  void missingTemporaryDirectory_isReported() throws Exception {
    Process demo = demo(dir.resolve("missing"), "--exit");
    assertThat(demo.inputReader().lines())
        .singleElement()
        .asString()
        .startsWith("sluice demo: a temporary directory must be writable in ")
        .contains("missing");
    assertThat(demo.waitFor()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          --http-port 65537 | --http-port must be from 0 to 65535, but was 65537
          --grpc-port 65536 | --grpc-port must be from 0 to 65535, but was 65536
          --http-port x     | Invalid value for option '--http-port': it must be a whole number
          --seconds 5       | unknown option '--seconds'
          now               | unexpected argument 'now'
          """)
  void arguments_areChecked(String arguments, String sentence) {
    Cli cli = Cli.run(("demo " + arguments).split(" "));
    assertThat(cli.exitCode()).isEqualTo(2);
    assertThat(cli.out()).isEmpty();
    assertThat(cli.err()).startsWith("sluice demo: " + sentence);
  }

  @Test
  void aPortInUse_isRefusedIfGiven_andElseReplaced() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      int port = taken.getLocalPort();
      Cli cli = Cli.run("demo", "--http-port", "" + port);
      assertThat(cli.exitCode()).isEqualTo(2);
      assertThat(cli.err())
          .isEqualTo("sluice demo: --http-port must be a free port: " + port + "\n");
      assertThat(DemoServer.Ports.choose("--http-port", null, port))
          .isPositive()
          .isNotEqualTo(port);
      assertThat(DemoServer.Ports.choose("--http-port", 0L, port)).isPositive();
    }
  }

  @Test
  void aServerThatFailsToStart_isReportedWithItsOutput() {
    DemoServer server = DemoServer.create(new DemoServer.Ports(0, 0), "{}");
    try (server) {
      assertThatThrownBy(server::start)
          .isInstanceOf(CommandFailedException.class)
          .hasMessageContaining("the server did not start: ")
          .hasMessageContaining("models");
      assertThat(server.isWell()).isFalse();
    }
    assertThat(server.start()).isFalse();
  }

  private static int anyPort() {
    return DemoServer.Ports.choose("--http-port", null, 0);
  }

  /** After the figures: something goes on, some of it waits or fails, until the user goes. */
  @Test
  @Tag("long") // looks at a demo for seconds
  void background_hasAcksDeadLettersAndAWaitingList() throws Exception {
    DemoServer.Ports ports = new DemoServer.Ports(anyPort(), anyPort());
    try (DemoServer server = DemoServer.create(ports, DemoModelCallers.BUDGETS);
        SluiceClient client = startedWithQueue(server)) {
      DemoTraffic.play(
          server,
          new CommandTimer() {
            @Override
            public NanoClock clock() {
              return NanoClock.system();
            }

            @Override
            public boolean sleepUntil(long nanos) {
              try {
                TimeUnit.MILLISECONDS.sleep(20);
              } catch (InterruptedException unexpected) {
                throw new AssertionError(unexpected);
              }
              return client.queue(DemoScenario.QUEUE).totals().acked() < 30
                  || client.queue(DemoScenario.QUEUE + ".dlq").depth() == 0
                  || batchInLine(client) < DemoTraffic.MOST_IN_LINE;
            }

            @Override
            public void close() {}
          });
      assertThat(client.browse(DemoScenario.QUEUE + ".dlq", 1).get(0).text())
          .isEqualTo("a document that the provider refuses");
      Await.until("an empty line", () -> batchInLine(client) == 0);
    }
  }

  private static int batchInLine(SluiceClient client) {
    int inLine =
        client
            .governor()
            .status()
            .models()
            .values()
            .iterator()
            .next()
            .queueLengths()
            .getOrDefault("P2_batch", 0);
    assertThat(inLine).isLessThanOrEqualTo(DemoTraffic.MOST_IN_LINE);
    return inLine;
  }

  private static SluiceClient startedWithQueue(DemoServer server) {
    assertThat(server.start()).isTrue();
    SluiceClient client = DemoRunner.connect(server);
    new DemoTenants(client, new MessageLog(), unexpected -> {}).close();
    return client;
  }
}
