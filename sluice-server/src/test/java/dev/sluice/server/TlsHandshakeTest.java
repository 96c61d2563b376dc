package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.TestCertificates.Issued;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections whose TLS handshake takes too long are closed. */
@Timeout(120)
final class TlsHandshakeTest {
  private static final byte[] NOTHING = {};

  /** The header of a TLS record, and the first byte of a ClientHello in it. */
  private static final byte[] BEGINNING = {22, 3, 1, 0, 100, 1};

  @TempDir private Path dir;
  private TlsProbe client;
  private SluiceServer server;

  @BeforeEach
  void start() throws Exception {
    TestCertificates issuer = new TestCertificates(dir);
    Issued authority = issuer.authority("ca");
    Issued shown = issuer.server(authority, "good");
    client = TlsProbe.of(authority.certificate(), null);
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir.resolve("data"))
                .withListen(ListenConfig.ANYWHERE)
                .withTls(new TlsConfig(shown.certificate(), shown.key(), null)),
            InstantSource.system(),
            listen -> listen.withHandshake(Duration.ofSeconds(4)));
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void unfinishedHandshake_isEndedOverGrpc() throws IOException {
    assertEnded(server.grpcPort(), NOTHING);
    assertEnded(server.grpcPort(), BEGINNING);
  }

  @Test
  void unfinishedHandshake_isEndedOverHttp_andOtherConnectionsStay() throws IOException {
    try (SSLSocket complete = client.connect(server.httpPort())) {
      assertEnded(server.httpPort(), NOTHING);
      assertEnded(server.httpPort(), BEGINNING);
      assertThat(TlsProbe.ask(complete)).contains("200");
    }
  }

  /** After a beginning, sends a byte now and then, so that the connection is never idle. */
  private static void assertEnded(int port, byte[] begun) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(300);
      socket.getOutputStream().write(begun);
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> isEnded(socket, begun.length == 0 ? NOTHING : new byte[1]));
    }
  }

  private static boolean isEnded(Socket socket, byte[] more) {
    try {
      socket.getOutputStream().write(more);
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException open) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }
}
