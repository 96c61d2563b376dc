package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server as a process of its own, called over HTTP. */
final class ServeProcess implements AutoCloseable {
  private static final Pattern READY =
      Pattern.compile("sluice is ready: gRPC on 127.0.0.1:\\d+, HTTP on (http://\\S+), data in .*");
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(20)).build();
  private final Process process;
  private final Path log;
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

  private ServeProcess(Process process, Path log, String url) {
    this.process = process;
    this.log = log;
    this.url = url;
  }

  /**
   * Starts a server in {@code dir} and waits until it is ready.
   *
   * @param prefix the command that starts the process, such as strace; empty for none
   * @param flags flags of the JVM
   */
  static ServeProcess start(Path dir, List<String> prefix, List<String> flags, String... arguments)
      throws IOException {
    Process process = launch(dir, prefix, flags, arguments);
    BufferedReader output = process.inputReader();
    for (String line; (line = output.readLine()) != null; ) {
      Matcher ready = READY.matcher(line);
      if (ready.matches()) {
        return new ServeProcess(process, dir.resolve("log"), ready.group(1));
      }
    }
    throw new AssertionError("never ready: " + Files.readString(dir.resolve("log")));
  }

  /** Starts a server whose standard error is the file {@code log} in {@code dir}. */
  static Process launch(Path dir, List<String> prefix, List<String> flags, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>(prefix);
    command.addAll(JavaCommand.begin());
    command.addAll(flags);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Sluice.class.getName()));
    command.addAll(List.of("serve", "--grpc-port", "0", "--http-port", "0"));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(dir.toFile())
            .redirectError(ProcessBuilder.Redirect.appendTo(dir.resolve("log").toFile()));
    builder.environment().keySet().removeIf(name -> name.matches("(SLUICE|FILA)_.*"));
    return builder.start();
  }

  Process process() {
    return process;
  }

  String log() throws IOException {
    return Files.readString(log);
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
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      throw new AssertionError("the server has not ended within 60 s");
    }
    return process.exitValue();
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }
}
