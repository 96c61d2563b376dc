package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.auth.AccountQuotas;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Storms over HTTP: the server keeps nothing of them, and goes on. {@code -Dsluice.storm=N} makes
 * them N times as long.
 */
@Tag("any-jdk")
@Timeout(300)
final class HostileHttpTest {
  private static final int STORM = Integer.getInteger("sluice.storm", 1);
  private static final int MAX_BODY = 200_000;
  private static final int MAX_CONNECTIONS = 400;
  private static final long MAX_GROWTH = 64L << 20;
  private static final String CHUNKED =
      "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

  @TempDir private static Path dir;
  private static SluiceServer server;
  private static long usedBefore;
  private final List<Socket> open = new ArrayList<>();

  @BeforeAll
  static void start() throws IOException {
    TransportConfig limits =
        new TransportConfig(MAX_CONNECTIONS, 100, MAX_BODY, 8_192, Duration.ofSeconds(5));
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE).withLimits(limits));
    assertThat(ask("POST", "/v1/queues", "{\"name\":\"q\"}")).startsWith("HTTP/1.1 2");
    usedBefore = usedHeap();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /** As before the storm: nothing is open, nothing is held, requests are answered. */
  @AfterEach
  void serverIsAsBefore() throws IOException {
    for (Socket socket : open) {
      socket.close();
    }
    await().atMost(Duration.ofSeconds(20)).until(() -> server.httpConnections() == 0);
    assertAnswers();
    assertThat(usedHeap() - usedBefore).isLessThan(MAX_GROWTH);
  }

  private static void assertAnswers() throws IOException {
    assertThat(ask("GET", "/v1/queues/q", "")).startsWith("HTTP/1.1 200 ");
  }

  /** On a connection of its own, which ends with it. */
  private static String ask(String method, String path, String body) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      socket.setSoTimeout(15_000);
      send(
          socket,
          "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(method, path, body.length(), body));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static long usedHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
    socket.setSoTimeout(20_000);
    open.add(socket);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  private static String firstLine(Socket socket) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int read; (read = socket.getInputStream().read()) > '\r'; ) {
      line.write(read);
    }
    return line.toString(StandardCharsets.US_ASCII);
  }

  @Test
  void slowHeaders_delayNoOtherWithinTheLimit_andAreCutOff() throws Exception {
    String request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
    for (int i = 0; i < MAX_CONNECTIONS / 2; i++) {
      send(connect(), request.substring(0, 1 + i % request.length()));
    }
    assertAnswers();
    Socket slow = open.get(open.size() - 1);
    slow.setSoTimeout(100);
    long began = System.nanoTime();
    while (!isOverAfterOneByteMore(slow)) {
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(15));
    }
    await().atMost(Duration.ofSeconds(15)).until(() -> server.httpConnections() == 0);
  }

  private static boolean isOverAfterOneByteMore(Socket socket) throws IOException {
    try {
      send(socket, "x");
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException stillOpen) {
      return false;
    } catch (SocketException reset) {
      return true;
    }
  }

  @Test
  void endlessChunks_areCutOff() throws IOException {
    byte[] chunk = ("1000\r\n" + " ".repeat(0x1000) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    for (int i = 0; i < 10 * STORM; i++) {
      Socket socket = connect();
      send(socket, CHUNKED);
      long sent = 0;
      try {
        for (OutputStream out = socket.getOutputStream(); sent < 50L * MAX_BODY; ) {
          out.write(chunk);
          sent += chunk.length;
        }
      } catch (SocketException cutOff) {
        assertThat(sent).isGreaterThan(MAX_BODY);
      }
      assertThat(sent).isLessThan(50L * MAX_BODY);
    }
  }

  @Test
  void pipelinedGarbage_endsTheConnection() throws IOException {
    Random random = new Random(21);
    for (int i = 0; i < 60 * STORM; i++) {
      byte[] noise = new byte[1 + random.nextInt(3_000)];
      random.nextBytes(noise);
      Socket socket = connect();
      send(
          socket,
          "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1 + random.nextInt(20)));
      try {
        socket.getOutputStream().write(noise);
        socket.shutdownOutput();
        String all =
            new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        assertThat(all).matches("(?s)HTTP/1.1 [24]00 .*").doesNotContain(" 500 ");
      } catch (SocketException reset) {
        assertThat(reset).hasMessageMatching("(?i).*(reset|broken pipe).*");
      }
    }
  }

  @Test
  void halfClosedAndTruncatedBodies_areDiscarded() throws IOException {
    Random random = new Random(22);
    String body = "{\"payload\":\"" + "x".repeat(50_000) + "\"}";
    for (int i = 0; i < 100 * STORM; i++) {
      Socket socket = connect();
      send(
          socket,
          "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(body.length(), body.substring(0, random.nextInt(body.length()))));
      if (random.nextBoolean()) {
        socket.setSoLinger(true, 0);
        socket.close();
      } else {
        socket.shutdownOutput();
        assertThat(socket.getInputStream().read()).isNegative();
      }
    }
    assertThat(ask("GET", "/v1/queues/q", "")).contains("\"depth\":0");
  }

  @Test
  void listeners_beyondTheLimit_areRefused_andDelayNoOther() throws IOException {
    int refused = 0;
    for (int i = 0; i < AccountQuotas.MAX_EVENT_STREAMS + 100; i++) {
      Socket socket = connect();
      send(socket, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
      refused += firstLine(socket).startsWith("HTTP/1.1 429") ? 1 : 0;
    }
    assertThat(refused).isBetween(90, 100);
    assertAnswers();
  }

  @Test
  void abandonedLongPolls_takeNoMessage() throws IOException {
    assertThat(ask("POST", "/v1/queues", "{\"name\":\"polls\"}")).startsWith("HTTP/1.1 2");
    for (int i = 0; i < 100 * STORM; i++) {
      Socket socket = connect();
      String body = "{\"wait_ms\":20000}";
      send(
          socket,
          "POST /v1/queues/polls/receive HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(body.length(), body));
    }
    for (Socket socket : open) {
      socket.close();
    }
    await().atMost(Duration.ofSeconds(20)).until(() -> server.httpConnections() == 0);
    assertThat(ask("POST", "/v1/queues/polls/messages", "{\"payload\":\"x\"}")).contains(" 200 ");
    assertThat(ask("POST", "/v1/queues/polls/receive", "{\"wait_ms\":5000}")).contains("\"payload");
  }
}
