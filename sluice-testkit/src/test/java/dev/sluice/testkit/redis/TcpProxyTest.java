package dev.sluice.testkit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.testkit.Await;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("any-jdk")
@Timeout(60)
class TcpProxyTest {
  private final RedisServer server = RedisServer.start();
  private final TcpProxy proxy = TcpProxy.to(server);
  private Socket socket;

  @BeforeEach
  void connect() throws IOException {
    socket = open();
  }

  @AfterEach
  void close() throws IOException {
    socket.close();
    proxy.close();
    server.close();
  }

  @Test
  void forwards_bothWays_anySize() {
    String big = "x".repeat(20_000_000);
    RedisConsole console = new RedisConsole(proxy.port(), List.of());
    assertThat(console.command(List.of("SET", "k", big))).isEqualTo("OK");
    assertThat(console.command(List.of("GET", "k"))).isEqualTo(big);
    assertThat(proxy.uri()).isEqualTo("redis://127.0.0.1:" + proxy.port());
  }

  @Test
  void forwards_theEndOfAConnection() throws IOException {
    assertThat(ping(socket)).isEqualTo("+PONG");
    assertThat(proxy.connections()).isEqualTo(1);
    socket.close();
    Await.until(() -> "no connection", Duration.ofSeconds(10), () -> proxy.connections() == 0);
    socket = open();
    assertThat(ping(socket)).isEqualTo("+PONG");
    server.kill();
    assertThat(socket.getInputStream().read()).isEqualTo(-1);
  }

  @Test
  void delay_addsUpOverBothDirections() throws IOException {
    proxy.delay(Duration.ofMillis(40), Duration.ofMillis(60));
    long start = System.nanoTime();
    assertThat(ping(socket)).isEqualTo("+PONG");
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(100));

    proxy.delay(Duration.ofHours(1), Duration.ZERO);
    send(socket);
    assertSilent(socket);
    proxy.heal();
    assertThat(receive(socket)).isEqualTo("+PONG");
  }

  @Test
  void cut_resetsOpenConnections_andAcceptsNewOnes() throws IOException {
    assertThat(ping(socket)).isEqualTo("+PONG");
    proxy.cut();
    assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketException.class);
    try (Socket next = open()) {
      assertThat(ping(next)).isEqualTo("+PONG");
    }
  }

  @Test
  void refuse_onlyNewConnectionsUntilHealed() throws IOException {
    assertThat(ping(socket)).isEqualTo("+PONG");
    proxy.refuse();
    assertThatThrownBy(this::open).isInstanceOf(ConnectException.class);
    assertThat(ping(socket)).isEqualTo("+PONG");
    proxy.heal();
    try (Socket next = open()) {
      assertThat(ping(next)).isEqualTo("+PONG");
    }
  }

  @Test
  void blackHole_acceptsAndKeepsAllUntilHealed() throws IOException {
    assertThat(ping(socket)).isEqualTo("+PONG");
    proxy.blackHole();
    try (Socket next = open()) {
      send(socket);
      send(next);
      assertSilent(socket);
      assertSilent(next);
      proxy.heal();
      assertThat(receive(socket)).isEqualTo("+PONG");
      assertThat(receive(next)).isEqualTo("+PONG");
    }
  }

  @Test
  void unreachableTarget_closesTheConnection() throws IOException {
    server.kill();
    try (Socket next = open()) {
      assertThatThrownBy(() -> ping(next)).isInstanceOf(IOException.class);
    }
    server.restart();
    try (Socket next = open()) {
      assertThat(ping(next)).isEqualTo("+PONG");
    }
  }

  @Test
  void close_freesThePortAndTheThread() throws IOException {
    assertThat(ping(socket)).isEqualTo("+PONG");
    proxy.close();
    proxy.close();
    assertThatThrownBy(this::open).isInstanceOf(ConnectException.class);
    assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketException.class);
    assertThatThrownBy(proxy::cut).hasMessageContaining("the proxy is closed");
    assertThat(Thread.getAllStackTraces().keySet())
        .noneMatch(thread -> thread.getName().equals("tcp-proxy"));
  }

  private Socket open() throws IOException {
    return new Socket(RedisConsole.loopback(), proxy.port());
  }

  private static String ping(Socket socket) throws IOException {
    send(socket);
    return receive(socket);
  }

  private static void send(Socket socket) throws IOException {
    socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
  }

  private static String receive(Socket socket) throws IOException {
    byte[] answer = socket.getInputStream().readNBytes(7);
    if (answer.length < 7) {
      throw new IOException("the end after bytes: " + answer.length);
    }
    return new String(answer, StandardCharsets.US_ASCII).strip();
  }

  private static void assertSilent(Socket socket) throws IOException {
    socket.setSoTimeout(50);
    assertThatThrownBy(() -> socket.getInputStream().read())
        .isInstanceOf(SocketTimeoutException.class);
    socket.setSoTimeout(0);
  }
}
