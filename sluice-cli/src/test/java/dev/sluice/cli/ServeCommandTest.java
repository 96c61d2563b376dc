package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The server as a process of its own. */
@Timeout(60)
final class ServeCommandTest {
  private static final Pattern READY =
      Pattern.compile("sluice is ready: gRPC on 127.0.0.1:\\d+, HTTP on (http://\\S+), data in .*");

  @TempDir private Path dir;
  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void endAll() {
    started.forEach(Process::destroyForcibly);
  }

  private Process sluice(String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Sluice.class.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().remove("SLUICE_BOOTSTRAP_KEY");
    Process process = builder.start();
    started.add(process);
    return process;
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
    first.destroy();
    assertThat(first.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(first.exitValue()).isEqualTo(128 + 15);

    Process second = sluice("serve", "--data", data, "--grpc-port", "0", "--http-port", "0");
    HttpResponse<String> received =
        post(awaitReady(second) + "/v1/queues/q/receive", "{\"wait_ms\":5000}");
    assertThat(received.body()).contains("hello");
  }

  @Test
  void whatKeepsItFromStarting_isOneSentence() throws Exception {
    Process open = sluice("serve", "--data", dir.toString(), "--host", "0.0.0.0");
    assertThat(open.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(open.exitValue()).isEqualTo(2);
    assertThat(open.inputReader().lines())
        .singleElement()
        .asString()
        .startsWith("sluice serve: the server cannot start: ")
        .contains("loopback");
    Process port = sluice("serve", "--data", dir.toString(), "--grpc-port", "70000");
    assertThat(port.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(port.inputReader().lines())
        .singleElement()
        .asString()
        .contains("--grpc-port must be from 0 to 65535: 70000");
  }
}
