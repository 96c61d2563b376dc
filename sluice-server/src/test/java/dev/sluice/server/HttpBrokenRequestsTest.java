package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Broken bytes on a socket get a clean error or none, and the server keeps working. */
final class HttpBrokenRequestsTest {
  private static final int MAX_BODY = TransportConfig.DEFAULTS.maxRequestBytes();
  private static final int MAX_HEADER = TransportConfig.DEFAULTS.maxHeaderBytes();

  @TempDir static Path dir;
  private static SluiceServer server;
  private static HttpProbe http;

  @BeforeAll
  static void start() throws IOException {
    server = SluiceServer.start(ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE));
    http = new HttpProbe(server.httpPort());
    http.post("/v1/queues", "{\"name\":\"q\"}");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @AfterEach
  void serverGoesOn() {
    assertThat(http.get("/readyz").status()).isEqualTo(200);
  }

  /** All that comes back until the server closes; nothing if it resets the connection. */
  private static String answer(byte[] request) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      socket.setSoTimeout(15_000);
      try {
        socket.getOutputStream().write(request);
        socket.shutdownOutput();
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      } catch (SocketException reset) {
        return "";
      }
    }
  }

  private static String answer(String request) throws IOException {
    return answer(request.getBytes(StandardCharsets.ISO_8859_1));
  }

  @Test
  void garbage_isClosed() throws IOException {
    Random random = new Random(5);
    for (int i = 0; i < 200; i++) {
      byte[] noise = new byte[1 + random.nextInt(2_000)];
      random.nextBytes(noise);
      assertThat(answer(noise)).doesNotContain(" 200 ").doesNotContain("Exception");
    }
  }

  @Test
  void changedRequests_getCleanAnswers() throws IOException {
    Random random = new Random(6);
    String body = "{\"messages\":[{\"payload\":\"x\",\"headers\":{\"a\":\"b\"}}]}";
    byte[] good =
        ("POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + "Content-Length: %d\r\n\r\n%s")
            .formatted(body.length(), body)
            .getBytes(StandardCharsets.ISO_8859_1);
    for (int i = 0; i < 300; i++) {
      byte[] bad = good.clone();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
        bad[random.nextInt(bad.length)] = (byte) random.nextInt(256);
      }
      assertThat(answer(bad)).doesNotContain(" 500 ").doesNotContain("Exception");
    }
  }

  @Test
  void halfARequest_isNoRequest() throws IOException {
    assertThat(answer("GET /v1/que")).isEmpty();
    assertThat(answer("GET /healthz HTTP/1.1\r\nHost: localhost\r\n")).isEmpty();
    assertThat(
            answer(
                "POST /v1/queues HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"name\":\"h"))
        .isEmpty();
    assertThat(http.get("/v1/queues/h").status()).isEqualTo(404);
  }

  @Test
  void hugeHeader_isRefused() throws IOException {
    String huge = "x".repeat(2 * MAX_HEADER);
    String answer =
        answer("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Huge: " + huge + "\r\n\r\n");
    assertThat(answer).doesNotContain(" 200 ");
    assertThat(answer("GET /" + huge + " HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        .doesNotContain(" 200 ");
    String many = "X-Many: x\r\n".repeat(1_000);
    assertThat(answer("GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + many + "\r\n"))
        .doesNotContain(" 200 ");
  }

  @Test
  void oversizedBody_isRefusedBeforeItIsSent() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      socket.setSoTimeout(15_000);
      socket
          .getOutputStream()
          .write(
              "POST /v1/queues HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n{"
                  .formatted(MAX_BODY + 1)
                  .getBytes(StandardCharsets.ISO_8859_1));
      byte[] start = socket.getInputStream().readNBytes(12);
      assertThat(new String(start, StandardCharsets.ISO_8859_1)).isEqualTo("HTTP/1.1 413");
    }
  }

  @Test
  void oversizedChunks_areNotBuffered() throws IOException {
    byte[] chunk = ("10000\r\n" + " ".repeat(0x10000) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    long sent = 0;
    String status = "";
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      socket.setSoTimeout(15_000);
      OutputStream out = socket.getOutputStream();
      out.write(
          "POST /v1/queues HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
              .getBytes(StandardCharsets.US_ASCII));
      while (sent < 4L * MAX_BODY && socket.getInputStream().available() == 0) {
        out.write(chunk);
        sent += chunk.length;
      }
      status = new String(socket.getInputStream().readNBytes(12), StandardCharsets.ISO_8859_1);
    } catch (SocketException reset) {
      status = "reset";
    }
    assertThat(status).isIn("HTTP/1.1 413", "reset");
    assertThat(sent).isLessThan(4L * MAX_BODY);
  }

  @Test
  void largestMessage_isAccepted() {
    String payload = "x".repeat(15 << 20);
    assertThat(http.post("/v1/queues/q/messages", "{\"payload\":\"" + payload + "\"}").status())
        .isEqualTo(200);
  }

  @Test
  void oddPaths_areRefused() throws IOException {
    String end = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assertThat(answer("GET /v1/queues/%zz" + end)).startsWith("HTTP/1.1 400");
    assertThat(answer("GET /v1/queues/%" + end)).startsWith("HTTP/1.1 400");
    assertThat(answer("GET /v1/../healthz" + end)).startsWith("HTTP/1.1 404");
    assertThat(answer("GET //healthz" + end)).startsWith("HTTP/1.1 404");
    assertThat(answer("GET /healthz%00" + end)).startsWith("HTTP/1.1 404");
  }

  @Test
  void deepJson_isRefused() {
    var refused = http.post("/v1/queues", "{\"config\":" + "[".repeat(100_000));
    assertThat(refused.status()).isEqualTo(400);
    var deep = http.post("/v1/queues/q/messages", "{\"x\":" + "[".repeat(100_000));
    assertThat(deep.status()).isEqualTo(400);
  }
}
