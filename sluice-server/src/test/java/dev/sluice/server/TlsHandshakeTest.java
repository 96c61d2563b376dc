package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.TestCertificates.Issued;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.time.InstantSource;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections that do not end their TLS handshake do not stay. */
@Timeout(120)
final class TlsHandshakeTest {
  private static final byte[] NOTHING = {};

  /** The head of a record with a ClientHello, and the type of that. */
  private static final byte[] BEGINNING = {22, 3, 1, 0, 100, 1};

  @TempDir private Path dir;
  private SSLContext client;
  private SluiceServer server;

  @BeforeEach
  void start() throws Exception {
    TestCertificates issuer = new TestCertificates(dir);
    Issued authority = issuer.authority("ca");
    Issued shown = issuer.server(authority, "good");
    client = trusting(authority);
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir.resolve("data"))
                .withListen(Listen.ANYWHERE)
                .withTls(new ServerTls(shown.certificate(), shown.key(), null)),
            InstantSource.system(),
            listen -> listen.withHandshake(Duration.ofSeconds(4)));
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private static SSLContext trusting(Issued authority) throws Exception {
    KeyStore trust = KeyStore.getInstance("PKCS12");
    trust.load(null, null);
    try (InputStream in = Files.newInputStream(authority.certificate())) {
      trust.setCertificateEntry(
          "ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    TrustManagerFactory trusted =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(trust);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trusted.getTrustManagers(), null);
    return context;
  }

  @Test
  void unfinishedHandshake_isEndedOverGrpc() throws IOException {
    assertEnded(server.grpcPort(), NOTHING);
    assertEnded(server.grpcPort(), BEGINNING);
  }

  @Test
  void unfinishedHandshake_isEndedOverHttp_andOthersStay() throws IOException {
    try (SSLSocket welcome =
        (SSLSocket)
            client
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      welcome.setSoTimeout(30_000);
      welcome.startHandshake();
      assertEnded(server.httpPort(), NOTHING);
      assertEnded(server.httpPort(), BEGINNING);
      welcome
          .getOutputStream()
          .write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      assertThat(welcome.getInputStream().read()).isEqualTo('H');
    }
  }

  /** Sends a byte now and then, if there is a beginning, so that the connection is never idle. */
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
