package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The server as a process of its own. */
@Tag("any-jdk")
@Timeout(60)
final class ServeCommandTest {
  private static final Pattern READY =
      Pattern.compile("sluice is ready: gRPC on 127.0.0.1:\\d+, HTTP on (http://\\S+), data in .*");

  private static final Path SHIPPED_BUDGET =
      Path.of("../sluice-governor/src/main/resources/dev/sluice/governor/token-budget.json");

  @TempDir private Path dir;
  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void endAll() {
    started.forEach(Process::destroyForcibly);
  }

  private Process sluice(String... arguments) throws Exception {
    return sluice(Map.of(), arguments);
  }

  /** In the temporary directory, with stderr in the file {@code log} there. */
  private Process sluice(Map<String, String> environment, String... arguments) throws Exception {
    List<String> command = JavaCommand.begin();
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Sluice.class.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(dir.toFile()).redirectError(log().toFile());
    builder.environment().keySet().removeIf(name -> name.matches("(SLUICE|FILA)_.*"));
    builder.environment().putAll(environment);
    Process process = builder.start();
    started.add(process);
    return process;
  }

  private Path log() {
    return dir.resolve("log");
  }

  private void endByTerm(Process server) throws Exception {
    server.destroy();
    assertThat(server.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(server.exitValue()).isEqualTo(128 + 15);
  }

  private void assertRefused(Process server, String... words) throws Exception {
    assertThat(server.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(server.exitValue()).isEqualTo(2);
    assertThat(server.inputReader().lines()).isEmpty();
    List<String> lines = Files.readAllLines(log());
    assertThat(lines.get(lines.size() - 1)).startsWith("sluice serve: ").contains(words);
  }

  /** Returns where HTTP is. */
  private static String awaitReady(Process server) throws Exception {
    BufferedReader output = server.inputReader();
    List<String> lines = new ArrayList<>();
    for (String line; (line = output.readLine()) != null; lines.add(line)) {
      Matcher ready = READY.matcher(line);
      if (ready.matches()) {
        return ready.group(1);
      }
    }
    throw new AssertionError("never ready: " + lines);
  }

  private static HttpResponse<String> post(String url, String json) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create(url)).POST(BodyPublishers.ofString(json)).build(),
            BodyHandlers.ofString());
  }

  @Test
  void whatWasConfirmed_isThereAfterSigterm() throws Exception {
    String data = dir.resolve("data").toString();
    Process first = sluice("serve", "--data", data, "--grpc-port", "0", "--http-port", "0");
    String url = awaitReady(first);
    assertThat(post(url + "/v1/queues", "{\"name\":\"q\"}").statusCode()).isBetween(200, 201);
    assertThat(post(url + "/v1/queues/q/messages", "{\"payload\":\"hello\"}").statusCode())
        .isBetween(200, 201);
    endByTerm(first);
    assertThat(Files.readString(log())).doesNotContain("no effect");

    Process second = sluice("serve", "--data", data, "--grpc-port", "0", "--http-port", "0");
    HttpResponse<String> received =
        post(awaitReady(second) + "/v1/queues/q/receive", "{\"wait_ms\":5000}");
    assertThat(received.body()).contains("hello");
  }

  @Test
  void whatKeepsItFromStarting_isOneSentence() throws Exception {
    assertRefused(
        sluice("serve", "--data", "data", "--host", "0.0.0.0"),
        "the server cannot start: ",
        "loopback");
    assertThat(Cli.run("serve", "--data", "data", "--grpc-port", "70000").err())
        .isEqualTo("sluice serve: --grpc-port must be a whole number from 0 to 65535: '70000'\n");
    assertRefused(
        sluice(Map.of("SLUICE_SERVER_PORT", "1"), "serve"),
        "unknown environment variable 'SLUICE_SERVER_PORT'");
    Files.writeString(dir.resolve("sluice.toml"), "[server]\nport = 1\n");
    assertRefused(sluice("serve"), "sluice.toml: unknown key 'server.port'");
    assertThat(Files.readAllLines(log())).hasSize(1);
    assertThat(dir).isDirectoryNotContaining(Files::isDirectory);
  }

  @Test
  void aTakenPort_isSaidBeforeAnythingIsTouched() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = Integer.toString(taken.getLocalPort());
      assertRefused(
          sluice("serve", "--data", "data", "--grpc-port", port, "--http-port", "0"),
          "the server cannot start: cannot listen for gRPC on 127.0.0.1:" + port,
          ": address already in use; --grpc-port and --http-port say where else");
    }
    assertThat(Files.readString(log())).contains("cannot start").doesNotContain("closed");
    assertThat(dir.resolve("data")).doesNotExist();
  }

  @Test
  void aFilaToml_isUnderstood() throws Exception {
    Files.writeString(
        dir.resolve("fila.toml"),
        """
        [server]
        listen_addr = "127.0.0.1:0"

        [auth]
        bootstrap_apikey = "secret-of-fila"

        [scheduler]
        quantum = 1000
        """);
    Process server =
        sluice(Map.of("SLUICE_SERVER_HTTP_PORT", "0", "FILA_DATA_DIR", "elsewhere"), "serve");
    String url = awaitReady(server);
    assertThat(post(url + "/v1/queues", "{\"name\":\"q\"}").statusCode()).isEqualTo(401);
    endByTerm(server);
    assertThat(dir.resolve("elsewhere").resolve("CURRENT")).exists();
    assertThat(Files.readString(log()))
        .contains(" WARN  ServerSettings - fila.toml: without effect here: scheduler.quantum\n")
        .contains("data_dir=\"elsewhere\" auth=\"on\"")
        .doesNotContain("secret-of-fila");
  }

  @Test
  void theLog_tellsTheLifeOfAServer_inJson() throws Exception {
    Files.writeString(
        dir.resolve("other.toml"),
        """
        server = { grpc_port = 0, http_port = 0, data_dir = "data" }
        auth.bootstrap_key = "do-not-tell"
        log.format = "json"
        governor.file = "budget.json"
        """);
    Files.copy(SHIPPED_BUDGET, dir.resolve("budget.json"));
    Process server = sluice("serve", "--config", "other.toml");
    awaitReady(server);
    endByTerm(server);
    ObjectMapper json = new ObjectMapper();
    List<JsonNode> lines = new ArrayList<>();
    for (String line : Files.readAllLines(log())) {
      lines.add(json.readTree(line));
    }
    assertThat(lines)
        .extracting(line -> line.get("formattedMessage").asText().split(":", 2)[0])
        .containsExactly(
            "starting", "the budget names what has no effect here", "ready", "draining", "closed");
    assertThat(lines)
        .allSatisfy(
            line -> {
              assertThat(line.get("level").asText()).isEqualTo("INFO");
              assertThat(line.get("loggerName").asText())
                  .isEqualTo("dev.sluice.server.SluiceServer");
            });
    assertThat(lines.get(0).get("kvpList").toString())
        .contains("{\"auth\":\"on\"}", "{\"tls\":\"off\"}", "{\"data_dir\":\"data\"}");
    assertThat(Files.readString(log())).doesNotContain("do-not-tell");
  }

  @Test
  void printConfig_saysWhatFlagsGive_andStartsNothing() {
    Cli cli =
        Cli.run(
            "serve",
            "--data=some where",
            "--host=127.0.0.2",
            "--grpc-port=1",
            "--http-port=2",
            "--print-config");
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.err()).isEmpty();
    assertThat(cli.outLines())
        .startsWith("[server]", "# Where everything is kept.", "data_dir = \"some where\"")
        .contains("host = \"127.0.0.2\"", "grpc_port = 1", "http_port = 2")
        .contains("# bootstrap_key = \"\"", "format = \"text\"");
    assertThat(Path.of("some where")).doesNotExist();
  }
}
