package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients that ask before they send a body. */
final class ExpectContinueTest {
  private static final String BODY = "{\"name\":\"expected\"}";

  private static KeyedServer server;

  @BeforeAll
  static void start(@TempDir Path dir) throws IOException {
    server = new KeyedServer(dir);
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static Socket ask(String key) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
    socket.setSoTimeout(15_000);
    send(
        socket,
        """
        POST /v1/queues HTTP/1.1\r
        Host: 127.0.0.1\r
        Authorization: Bearer %s\r
        Content-Length: %d\r
        Expect: 100-continue\r
        \r
        """
            .formatted(key, BODY.length()));
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private static String read(Socket socket, int bytes) throws IOException {
    return new String(socket.getInputStream().readNBytes(bytes), StandardCharsets.US_ASCII);
  }

  private static String head(Socket socket) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      head.append(read(socket, 1));
    }
    return head.toString();
  }

  @Test
  void expectContinue_isAnsweredWithContinue() throws IOException {
    try (Socket socket = ask(KeyedServer.BOOTSTRAP)) {
      assertThat(head(socket)).startsWith("HTTP/1.1 100 Continue\r\n");
      send(socket, BODY);
      assertThat(read(socket, 12)).isEqualTo("HTTP/1.1 201");
    }
  }

  @Test
  void expectContinue_withoutAValidKey_isRefused() throws IOException {
    try (Socket socket = ask("wrong")) {
      assertThat(read(socket, 12)).isEqualTo("HTTP/1.1 401");
    }
  }
}
