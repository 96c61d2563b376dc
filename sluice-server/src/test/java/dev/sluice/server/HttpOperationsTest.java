package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.auth.AccountQuotas;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("any-jdk")
final class HttpOperationsTest {
  @TempDir Path dir;
  private SluiceServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    server = SluiceServer.start(ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE));
    http = new HttpProbe(server.httpPort());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void health_isAliveAndReady() {
    assertThat(http.get("/healthz").response().body()).isEqualTo("{\"status\":\"alive\"}");
    assertThat(http.get("/readyz").response().body()).isEqualTo("{\"status\":\"ready\"}");
    assertThat(http.post("/healthz", "").status()).isEqualTo(405);
  }

  @Test
  void responses_forbidCachingAndContentSniffing() throws Exception {
    http.post("/v1/queues", "{\"name\":\"q\"}");
    for (String path :
        List.of("/v1/queues", "/v1/queues/none", "/nowhere", "/metrics", "/openapi.json")) {
      assertGuarded(http.get(path).response());
    }
    assertGuarded(http.post("/v1/queues", "{").response());
    assertGuarded(http.delete("/healthz").response());
    assertGuarded(http.delete("/v1/queues/q").response());
    var events =
        http.client()
            .send(http.request("/v1/events").build(), HttpResponse.BodyHandlers.ofInputStream());
    assertGuarded(events);
    events.body().close();
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      socket.getOutputStream().write("no HTTP\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .contains("Cache-Control: no-store\r\n", "X-Content-Type-Options: nosniff\r\n");
    }
  }

  private static void assertGuarded(HttpResponse<?> answer) {
    assertThat(answer.headers().allValues("Cache-Control")).containsExactly("no-store");
    assertThat(answer.headers().allValues("X-Content-Type-Options")).containsExactly("nosniff");
    assertThat(answer.headers().allValues("Cross-Origin-Resource-Policy"))
        .containsExactly("same-origin");
  }

  @Test
  void metrics_countByQueue_andDropDeletedQueues() {
    http.post(
        "/v1/queues",
        "{\"name\":\"q\",\"config\":{\"max_attempts\":1,\"on_enqueue\":\"function on_enqueue(m)"
            + " return {} end\"}}");
    http.post("/v1/queues/q/messages", "{\"payload\":\"x\",\"fairness_key\":\"secret-key\"}");
    http.post("/v1/queues/q/messages", "{\"payload\":\"x\"}");
    http.post("/v1/queues/absent/messages", "{\"payload\":\"x\"}");
    String first = receive();
    http.post("/v1/queues/q/settle", settlement(first, "ack"));
    http.post("/v1/queues/q/settle", settlement(receive(), "nack"));
    String text = http.get("/metrics").response().body();
    assertThat(text)
        .contains("sluice_messages_enqueued_total{queue=\"q\"} 2.0")
        .contains("sluice_messages_delivered_total{queue=\"q\"} 2.0")
        .contains("sluice_messages_acked_seconds_count{queue=\"q\"} 1")
        .contains("sluice_messages_dead_lettered_total{queue=\"q\",reason=\"max_attempts\"} 1.0")
        .contains("sluice_hook_seconds_count{hook=\"enqueue\",outcome=\"answered\",queue=\"q\"} 2")
        .contains("sluice_enqueue_unknown_queue_total 1.0")
        .contains("sluice_queue_depth{queue=\"q\"} 0.0")
        .contains("sluice_queue_depth{queue=\"q.dlq\"} 1.0")
        .contains("sluice_store_sync_seconds_count")
        .contains("jvm_memory_used_bytes")
        .doesNotContain("absent")
        .doesNotContain("secret-key");
    http.delete("/v1/queues/q");
    assertThat(http.get("/metrics").response().body()).doesNotContain("queue=\"q\"");
  }

  private String receive() {
    return http.post("/v1/queues/q/receive", "{\"wait_ms\":10000}")
        .json()
        .at("/deliveries/0/id")
        .asText();
  }

  private static String settlement(String id, String action) {
    return "{\"settlements\":[{\"id\":\"%s\",\"action\":\"%s\"}]}".formatted(id, action);
  }

  @Test
  void events_showQueuesAsTheyChange() throws Exception {
    http.post("/v1/queues", "{\"name\":\"q\"}");
    HttpResponse<InputStream> events =
        http.client().send(http.request("/v1/events").build(), BodyHandlers.ofInputStream());
    assertThat(events.headers().firstValue("Content-Type").orElse(""))
        .startsWith("text/event-stream");
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(events.body(), StandardCharsets.UTF_8))) {
      assertThat(lines.readLine()).isEqualTo("event:queues");
      assertThat(lines.readLine()).contains("{\"name\":\"q\",\"depth\":0,");
      http.post("/v1/queues/q/messages", "{\"payload\":\"x\"}");
      String event = "{\"name\":\"q\",\"depth\":1,";
      assertThat(lines.lines().filter(line -> line.contains(event)).findFirst().orElseThrow())
          .contains("\"totals\":{\"enqueued\":1,\"delivered\":0,");
    }
  }

  @Test
  void events_listenersAreBounded_untilTheyDisconnect() throws IOException {
    Socket[] listeners = new Socket[AccountQuotas.MAX_EVENT_STREAMS];
    for (int i = 0; i < listeners.length; i++) {
      listeners[i] = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
      listeners[i]
          .getOutputStream()
          .write(
              "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII));
      // The event is there: the listener is counted.
      BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(listeners[i].getInputStream(), StandardCharsets.UTF_8));
      while (!"event:queues".equals(lines.readLine())) {
        assertThat(listeners[i].isClosed()).isFalse();
      }
    }
    Reply refused = http.get("/v1/events");
    assertThat(refused.status()).isEqualTo(429);
    assertThat(refused.message()).contains("64");
    for (Socket listener : listeners) {
      listener.close();
    }
    await().until(() -> listens());
  }

  private boolean listens() throws Exception {
    HttpResponse<InputStream> answer =
        http.client().send(http.request("/v1/events").build(), BodyHandlers.ofInputStream());
    answer.body().close();
    return answer.statusCode() == 200;
  }

  @Test
  void close_endsWaitingCallsAtOnce() throws Exception {
    http.post("/v1/queues", "{\"name\":\"q\"}");
    CompletableFuture<Reply> waiting =
        http.postLater("/v1/queues/q/receive", "{\"wait_ms\":30000}");
    HttpResponse<InputStream> events =
        http.client().send(http.request("/v1/events").build(), BodyHandlers.ofInputStream());
    await().until(() -> http.get("/v1/queues/q").json().at("/stats/consumers").asInt() == 1);
    long began = System.nanoTime();
    int port = server.httpPort();
    server.close();
    assertThat(System.nanoTime() - began).isLessThan(8_000_000_000L);
    assertThat(waiting.join().status()).isEqualTo(503);
    assertThat(waiting.join().code()).isEqualTo("UNAVAILABLE");
    events.body().close();
    assertThatThrownBy(() -> new Socket(InetAddress.getLoopbackAddress(), port).close())
        .isInstanceOf(ConnectException.class);
  }

  @Test
  void start_onAPortInUse_failsAndCreatesNoFile() throws IOException {
    Path other = dir.resolve("other");
    int free = freePort();
    Map<ListenConfig, String> taken =
        Map.of(
            ListenConfig.ANYWHERE.withHttpPort(server.httpPort()),
            "HTTP on 127.0.0.1:" + server.httpPort(),
            ListenConfig.ANYWHERE.withGrpcPort(server.grpcPort()),
            "gRPC on 127.0.0.1:" + server.grpcPort(),
            ListenConfig.ANYWHERE.withGrpcPort(free).withHttpPort(free),
            "HTTP on 127.0.0.1:" + free);
    taken.forEach(
        (listen, where) ->
            assertThatThrownBy(
                    () -> SluiceServer.start(ServerConfig.defaults(other).withListen(listen)))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith(
                    "cannot listen for " + where + ": address already in use; "));
    assertThat(other).doesNotExist();
    SluiceServer.start(ServerConfig.defaults(other).withListen(ListenConfig.ANYWHERE)).close();
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
