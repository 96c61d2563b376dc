package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.ServerProcess;
import dev.sluice.testkit.load.SeedBudget;
import java.io.BufferedReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
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
@Timeout(180)
final class ServeCommandTest {
  private static final Pattern READY =
      Pattern.compile(
          "sluice is ready: gRPC on 127.0.0.1:(\\d+), HTTP (?:on (https?://\\S+)|off), data in .*");

  private static final Path SHIPPED_BUDGET = SeedBudget.FILE;

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
    List<String> command = JavaProcess.command(List.of(), Sluice.class, List.of(arguments));
    ProcessBuilder builder = ServerProcess.prepare(dir, command).redirectError(log().toFile());
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
    assertThat(server.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(server.exitValue()).isEqualTo(128 + 15);
  }

  private void assertRefused(Process server, String... words) throws Exception {
    assertThat(server.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(server.exitValue()).isEqualTo(2);
    assertThat(server.inputReader().lines()).isEmpty();
    List<String> lines = Files.readAllLines(log());
    assertThat(lines.get(lines.size() - 1)).startsWith("sluice serve: ").contains(words);
  }

  /** Returns where HTTP is. */
  private static String awaitReady(Process server) throws Exception {
    return awaitReadyLine(server).group(2);
  }

  /** Returns the port of gRPC and where HTTP is, which is null where it is off. */
  private static Matcher awaitReadyLine(Process server) throws Exception {
    BufferedReader output = server.inputReader();
    List<String> lines = new ArrayList<>();
    for (String line; (line = output.readLine()) != null; lines.add(line)) {
      Matcher ready = READY.matcher(line);
      if (ready.matches()) {
        return ready;
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
  void confirmedMessage_survivesSigterm() throws Exception {
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
  void invalidConfiguration_isReportedInOneSentence() throws Exception {
    assertRefused(
        sluice("serve", "--data", "data", "--host", "0.0.0.0"),
        "the server cannot start: ",
        "loopback");
    assertThat(Cli.run("serve", "--data", "data", "--grpc-port", "70000").err())
        .isEqualTo(
            "sluice serve: --grpc-port must be a whole number from 0 to 65535, but was '70000'\n");
    assertRefused(
        sluice(Map.of("SLUICE_SERVER_PORT", "1"), "serve"),
        "unknown environment variable 'SLUICE_SERVER_PORT'");
    Files.writeString(dir.resolve("sluice.toml"), "[server]\nport = 1\n");
    assertRefused(sluice("serve"), "sluice.toml: unknown key 'server.port'");
    assertThat(Files.readAllLines(log())).hasSize(1);
    assertThat(dir).isDirectoryNotContaining(Files::isDirectory);
  }

  @Test
  void aPortInUse_isReportedBeforeAnyFileIsCreated() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = Integer.toString(taken.getLocalPort());
      assertRefused(
          sluice("serve", "--data", "data", "--grpc-port", port, "--http-port", "0"),
          "the server cannot start: cannot listen for gRPC on 127.0.0.1:" + port,
          ": address already in use; set server.grpc_port (--grpc-port) to another port");
      assertRefused(
          sluice("serve", "--data", "data", "--grpc-port", "0", "--http-port", port),
          "the server cannot start: cannot listen for HTTP on 127.0.0.1:" + port,
          ": address already in use; set server.http_port (--http-port) to another port, or to off"
              + " to serve gRPC alone");
    }
    assertThat(Files.readString(log()))
        .contains("cannot start")
        .doesNotContain("closed")
        .doesNotContain("\tat ")
        .hasLineCount(3);
    assertThat(dir.resolve("data")).doesNotExist();
  }

  @Test
  void aFilaToml_isAccepted() throws Exception {
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
        .contains(
            " WARN  ServerConfigLoader - fila.toml: keys without effect here: scheduler.quantum\n")
        .contains("data_dir=\"elsewhere\" auth=\"on\"")
        .doesNotContain("secret-of-fila");
  }

  @Test
  void aFilaToml_withUnknownKeys_startsWithAWarningAndWithoutHttp() throws Exception {
    Files.writeString(
        dir.resolve("fila.toml"),
        """
        [server]
        listen_addr = "127.0.0.1:0"

        [gui]
        listen_addr = "0.0.0.0:8080"
        """);
    Process server = sluice("serve");
    Matcher ready = awaitReadyLine(server);
    assertThat(ready.group(2)).isNull();
    Cli queues = Cli.run("queue", "list", "--server", "127.0.0.1:" + ready.group(1));
    assertThat(queues.exitCode()).as(queues.err()).isZero();
    endByTerm(server);
    assertThat(Files.readString(log()))
        .contains(
            " WARN  ServerConfigLoader - fila.toml: unknown keys without effect: 'gui.listen_addr';"
                + " keys of Sluice belong in a sluice.toml\n")
        .contains("http_port=\"off\"");
  }

  @Test
  void httpOff_servesGrpcAlone() throws Exception {
    Process server = sluice("serve", "--data", "data", "--grpc-port", "0", "--http-port", "off");
    Matcher ready = awaitReadyLine(server);
    assertThat(ready.group(2)).isNull();
    Cli made = Cli.run("queue", "create", "q", "--server", "127.0.0.1:" + ready.group(1));
    assertThat(made.exitCode()).as(made.err()).isZero();
    endByTerm(server);
  }

  @Test
  void newCertificate_isReadOnSighupAndWhenFilesChange() throws Exception {
    issueCertificate();
    Process server =
        sluice(
            Map.of("SLUICE_TLS_CERT_FILE", "server.pem", "SLUICE_TLS_KEY_FILE", "server.key"),
            "serve",
            "--grpc-port=0",
            "--http-port=off");
    int port = Integer.parseInt(awaitReadyLine(server).group(1));
    String first = shownSerial(port);
    run("kill -HUP " + server.pid());
    awaitLogged("reloaded name=\"tls.cert_file\" changed=\"nothing\"");
    issueCertificate();
    awaitLogged("changed=\"serial ");
    String second = shownSerial(port);
    assertThat(second).isNotEqualTo(first);
    assertThat(Files.readString(log())).contains(second.toLowerCase(Locale.ROOT));
    Files.writeString(dir.resolve("server.key"), "nonsense");
    run("kill -HUP " + server.pid());
    awaitLogged("reload failed; the previous version stays in use");
    assertThat(shownSerial(port)).isEqualTo(second);
    endByTerm(server);
  }

  private void awaitLogged(String words) {
    Await.until(words, () -> Files.readString(log()).contains(words));
  }

  private void issueCertificate() throws Exception {
    run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1"
            + " -subj /CN=localhost -keyout next.key -out next.pem"
            + " && mv next.key server.key && mv next.pem server.pem");
  }

  /** Returns the serial number in hexadecimal digits. */
  private String shownSerial(int port) throws Exception {
    String told =
        run(
            "openssl s_client -connect 127.0.0.1:%d </dev/null 2>/dev/null | openssl x509 -noout -serial"
                .formatted(port));
    return told.strip().replaceFirst("serial=0*", "");
  }

  /** Returns what a command line of the shell prints. */
  private String run(String commandLine) throws Exception {
    Process process =
        new ProcessBuilder("sh", "-c", commandLine)
            .directory(dir.toFile())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(commandLine).isZero();
    return output;
  }

  @Test
  void jsonLog_recordsStartAndShutdown_withoutSecrets() throws Exception {
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
            "starting", "the budget file has keys without effect", "ready", "draining", "closed");
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
  void printConfig_includesFlags_andStartsNoServer() {
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
        .startsWith(
            "[server]",
            "# The data directory: queues, limits, API keys and journals.",
            "data_dir = \"some where\"")
        .contains("host = \"127.0.0.2\"", "grpc_port = 1", "http_port = 2")
        .contains("# bootstrap_key = \"\"", "format = \"text\"");
    assertThat(Path.of("some where")).doesNotExist();
  }
}
