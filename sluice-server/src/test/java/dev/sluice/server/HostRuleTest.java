package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.http.HostHeaderPolicy;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whom a request may take the server for. */
@Timeout(60)
final class HostRuleTest {
  @TempDir Path dir;

  /** The answer to a request with these lines in its head. */
  private static String answer(InetAddress address, int port, String path, String head)
      throws IOException {
    try (Socket socket = new Socket(address, port)) {
      String request = "GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n".formatted(path, head);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static String answer(int port, String path, String head) throws IOException {
    return answer(InetAddress.getLoopbackAddress(), port, path, head);
  }

  private SluiceServer start(String host) throws IOException {
    return SluiceServer.start(
        ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE.withHost(host)));
  }

  @Test
  void withoutKeys_namesOfOtherMachinesAreRefused() throws IOException {
    try (SluiceServer server = start("127.0.0.1")) {
      int port = server.httpPort();
      for (String foreign :
          List.of(
              "evil.com",
              "localhost.evil.com",
              "127.0.0.1.evil.com",
              "127.evil",
              "0.0.0.0",
              "10.0.0.1",
              "[::2]")) {
        String host = foreign + ":" + port;
        for (String path : List.of("/v1/queues", "/healthz", "/nothing")) {
          String head = "Host: %s\r\nOrigin: http://%s\r\n".formatted(host, host);
          assertThat(answer(port, path, head))
              .as(foreign)
              .startsWith("HTTP/1.1 403 ")
              .contains("PERMISSION_DENIED", "Host must be localhost", ", but was " + host);
        }
      }
      for (String broken : List.of("localhost\r\nHost: evil.com", "[::1].evil.com", ":1", "")) {
        assertThat(answer(port, "/v1/queues", "Host: " + broken + "\r\n"))
            .as(broken)
            .startsWith("HTTP/1.1 40");
      }
    }
  }

  @Test
  void withoutKeys_namesOfThisMachineAreAccepted() throws IOException {
    try (SluiceServer server = start("127.0.0.1")) {
      int port = server.httpPort();
      for (String own : List.of("localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "[::1]")) {
        for (String host : List.of(own, own + ":" + port)) {
          assertThat(answer(port, "/v1/queues", "Host: " + host + "\r\n"))
              .as(host)
              .startsWith("HTTP/1.1 200 ");
        }
      }
      assertThat(answer(port, "/v1/queues HTTP/1.0\r\nX-Rest:", "")).contains(" 200 ");
    }
  }

  @Test
  void withoutKeys_theConfiguredNameIsAccepted() throws IOException {
    String name = InetAddress.getLoopbackAddress().getHostName();
    for (String host : List.of(name, "127.0.0.2")) {
      try (SluiceServer server = start(host)) {
        InetAddress address = InetAddress.getByName(host);
        assertThat(answer(address, server.httpPort(), "/v1/queues", "Host: " + host + "\r\n"))
            .startsWith("HTTP/1.1 200 ");
      }
    }
    HostHeaderPolicy rule =
        HostHeaderPolicy.of(
            ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE.withHost("My-Machine")));
    rule.require(List.of("my-machine:8080"));
  }

  @Test
  void withKeys_anyNameIsAccepted() throws IOException {
    try (KeyedServer server = new KeyedServer(dir)) {
      assertThat(answer(server.httpPort(), "/healthz", "Host: sluice.example.com\r\n"))
          .startsWith("HTTP/1.1 200 ");
      assertThat(answer(server.httpPort(), "/v1/queues", "Host: sluice.example.com\r\n"))
          .startsWith("HTTP/1.1 401 ");
    }
  }
}
