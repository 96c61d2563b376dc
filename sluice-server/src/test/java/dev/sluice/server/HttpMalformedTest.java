package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that break HTTP: refused like all others, and never taken for two. */
@Timeout(60)
final class HttpMalformedTest {
  private static final int MAX_BODY = 100_000;
  private static final String POST = "POST /v1/queues HTTP/1.1\r\nHost: localhost\r\n";
  private static final String CHUNKED = "Transfer-Encoding: chunked\r\n";
  private static final String NO_HTTP =
      "{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"message\":\"the request is not proper HTTP/1.1\"}}";

  @TempDir private static Path dir;
  private static SluiceServer server;
  private static HttpProbe http;

  @BeforeAll
  static void start() throws IOException {
    TransportConfig limits =
        new TransportConfig(1_000, 100, MAX_BODY, 8_192, Duration.ofSeconds(5));
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE).withLimits(limits));
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

  private static Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
    socket.setSoTimeout(5_000);
    return socket;
  }

  /** All that the server says until it closes by itself. */
  private static String answer(String request) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return readAll(socket);
    }
  }

  /** A reset after the answer is an end too: the server did not read everything. */
  private static String readAll(Socket socket) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try {
      for (int read; (read = socket.getInputStream().read()) >= 0; ) {
        all.write(read);
      }
    } catch (SocketTimeoutException open) {
      throw new AssertionError("the server keeps the connection: " + all, open);
    } catch (SocketException reset) {
      return all.toString(StandardCharsets.UTF_8);
    }
    return all.toString(StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\u0001\u0002\u0003\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n",
        POST + "Content-Length: -1\r\n\r\n",
        POST + "Content-Length: 1x\r\n\r\n",
        POST + "Content-Length: 99999999999999999999\r\n\r\n",
        POST + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        POST
            + "Content-Length: 5\r\n"
            + CHUNKED
            + "\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        POST + CHUNKED + "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
      })
  void malformedHttp_isRefusedInJson(String request) throws IOException {
    String answer = answer(request);
    assertThat(answer).startsWith("HTTP/1.1 400 ").contains("Connection: close").endsWith(NO_HTTP);
    assertThat(answer).contains("Content-Length: " + NO_HTTP.length() + "\r\n");
    assertThat(answer.split("HTTP/1.1 ", -1)).hasSize(2);
  }

  @Test
  void tooLargeOrTooManyHeaders_areRefusedInJson() throws IOException {
    String begin = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
    assertThat(answer(begin + "X-Large: " + "x".repeat(9_000) + "\r\n\r\n")).endsWith(NO_HTTP);
    assertThat(answer(begin + "X-Many: x\r\n".repeat(101) + "\r\n")).endsWith(NO_HTTP);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"chunked, identity", "identity", "gzip, chunked", "xchunked", "chunked;q=1"})
  void otherCodings_areRefusedAndTheConnectionEnds(String coding) throws IOException {
    String answer =
        answer(
            (POST + "Transfer-Encoding: %s\r\n\r\n0\r\n\r\n%s")
                .formatted(coding, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assertThat(answer).startsWith("HTTP/1.1 400 ").contains("Transfer-Encoding", coding);
    assertThat(answer).doesNotContain(" 200 ");
  }

  @Test
  void chunksInHttp10_areRefused() throws IOException {
    String answer =
        answer(
            "POST /v1/queues HTTP/1.0\r\nConnection: keep-alive\r\n"
                + CHUNKED
                + "\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n");
    assertThat(answer).contains(" 400 ").doesNotContain(" 200 ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "zz\r\n\r\n",
        "-1\r\nx\r\n",
        "fffffffffffffffff\r\nx",
        "0x2\r\n{}\r\n0\r\n\r\n",
        " 2\r\n{}"
      })
  void badChunks_endTheConnection(String chunks) throws IOException {
    String answer =
        answer(
            POST
                + "Transfer-Encoding: chunked\r\n\r\n"
                + chunks
                + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assertThat(answer).doesNotContain(" 200 ").doesNotContain(" 500 ");
  }

  @Test
  void foldedHeaders_areRefused() throws IOException {
    String answer =
        answer(
            POST
                + "Connection: close\r\nX-Folded: a\r\n"
                + " Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}");
    assertThat(answer).startsWith("HTTP/1.1 400 ").doesNotContain(" 200 ");
  }

  /** Sends so many bytes in chunks, and returns the whole answer. */
  private static String sendChunks(String path, int bytes, boolean end) throws IOException {
    String chunk = "1000\r\n" + " ".repeat(0x1000) + "\r\n";
    try (Socket socket = connect()) {
      OutputStream out = socket.getOutputStream();
      String head = "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
      out.write(head.formatted(path).getBytes(StandardCharsets.US_ASCII));
      for (int sent = 0; sent < bytes; sent += 0x1000) {
        out.write(chunk.getBytes(StandardCharsets.US_ASCII));
      }
      if (end) {
        out.write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      }
      return readAll(socket);
    }
  }

  @Test
  void oversizedChunks_getTheUsualRefusalAndLogNothing() throws IOException {
    try (CapturedLog log = new CapturedLog()) {
      String whole = sendChunks("/v1/queues", MAX_BODY + 0x1000, true);
      assertThat(whole)
          .startsWith("HTTP/1.1 413 ")
          .endsWith(
              "{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"message\":\"body must have at most"
                  + " 100000 bytes\"}}");
      assertThat(sendChunks("/v1/queues", 2 * MAX_BODY + 0x1000, false))
          .startsWith("HTTP/1.1 413 ");
      assertThat(sendChunks("/nowhere", 0x1000, false)).startsWith("HTTP/1.1 404 ");
      assertThat(log.text()).doesNotContain("\tat ");
    }
  }

  @Test
  void chunksWithinTheLimit_areAccepted() {
    byte[] body =
        ("{\"payload\":\"" + "x".repeat(MAX_BODY / 2) + "\"}").getBytes(StandardCharsets.US_ASCII);
    var request =
        http.request("/v1/queues/q/messages")
            .POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body)));
    assertThat(http.send(request).status()).isEqualTo(200);
  }
}
