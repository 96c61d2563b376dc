package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.ServerProcess;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A server as a process of its own, called over HTTP. */
final class ServeProcess implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(20)).build();
  private final ServerProcess server;
  private final String url;

  /** An answer over HTTP. */
  record Reply(int status, JsonNode body) {
    boolean isDone() {
      return status / 100 == 2;
    }

    String error() {
      return body.path("error").path("message").asText();
    }
  }

  private ServeProcess(ServerProcess server) {
    this.server = server;
    this.url = server.url();
  }

  /**
   * Starts a server in {@code dir} and waits until it is ready.
   *
   * @param prefix the command that starts the process, such as strace; empty for none
   * @param flags flags of the JVM
   */
  static ServeProcess start(Path dir, List<String> prefix, List<String> flags, String... arguments)
      throws IOException {
    return new ServeProcess(ServerProcess.start(dir, command(prefix, flags, arguments)));
  }

  /** Starts a server that may refuse; its standard error is the file {@code log} in {@code dir}. */
  static Process launch(Path dir, List<String> flags, String... arguments) throws IOException {
    return ServerProcess.prepare(dir, command(List.of(), flags, arguments)).start();
  }

  private static List<String> command(
      List<String> prefix, List<String> flags, String... arguments) {
    List<String> words = new ArrayList<>();
    words.addAll(List.of("serve", "--grpc-port", "0", "--http-port", "0"));
    words.addAll(List.of(arguments));
    List<String> command = new ArrayList<>(prefix);
    command.addAll(JavaProcess.command(flags, Sluice.class, words));
    return command;
  }

  Process process() {
    return server.process();
  }

  String log() throws IOException {
    return server.log();
  }

  Reply get(String path) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(url + path)).GET());
  }

  Reply post(String path, String json) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(url + path)).POST(BodyPublishers.ofString(json)));
  }

  Reply put(String path, String json) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(url + path)).PUT(BodyPublishers.ofString(json)));
  }

  /** A page that is no JSON. */
  String text(String path) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(30)).build();
    var response = http.send(request, BodyHandlers.ofString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return response.body();
  }

  private Reply send(HttpRequest.Builder request) throws Exception {
    var response =
        http.send(request.timeout(Duration.ofSeconds(30)).build(), BodyHandlers.ofString());
    String body = response.body();
    return new Reply(response.statusCode(), JSON.readTree(body.isEmpty() ? "{}" : body));
  }

  /** Enqueues {@code text}, which needs no escapes. */
  Reply enqueue(String queue, String text) throws Exception {
    return post("/v1/queues/" + queue + "/messages", "{\"payload\":\"" + text + "\"}");
  }

  /** Receives up to 100 messages; settles none. */
  Reply receive(String queue) throws Exception {
    return post("/v1/queues/" + queue + "/receive", "{\"max_messages\":100,\"wait_ms\":1000}");
  }

  /** Waits for the process to end and returns its exit code. */
  int exitCode() throws InterruptedException {
    return server.exitCode();
  }

  @Override
  public void close() {
    server.close();
  }
}
