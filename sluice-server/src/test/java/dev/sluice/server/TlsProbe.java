package dev.sluice.server;

import dev.sluice.server.TestCertificates.Issued;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Locale;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Connects to the port of gRPC or HTTP over TLS, with the classes of the JDK alone. */
final class TlsProbe {
  private static final int TIMEOUT_MS = 20_000;

  private final SSLContext context;

  private TlsProbe(SSLContext context) {
    this.context = context;
  }

  /** Returns a client that trusts one certificate, presents another, and resumes sessions. */
  static TlsProbe of(Path trusted, @Nullable Issued identity) throws Exception {
    KeyStore trust = KeyStore.getInstance("PKCS12");
    trust.load(null, null);
    trust.setCertificateEntry("ca", certificate(trusted));
    TrustManagerFactory authorities =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    authorities.init(trust);
    KeyStore shown = KeyStore.getInstance("PKCS12");
    shown.load(null, null);
    if (identity != null) {
      X509Certificate[] chain = {certificate(identity.certificate())};
      shown.setKeyEntry("me", identity.keys().getPrivate(), new char[0], chain);
    }
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(shown, new char[0]);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), authorities.getTrustManagers(), null);
    return new TlsProbe(context);
  }

  static X509Certificate certificate(Path pem) throws Exception {
    try (InputStream in = Files.newInputStream(pem)) {
      return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
    }
  }

  /** Returns the certificate that the server presents to a new connection. */
  X509Certificate shown(int port) throws IOException {
    try (SSLSocket socket = connect(port)) {
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    }
  }

  /** Returns a new connection whose handshake is complete. */
  SSLSocket connect(int port) throws IOException {
    SSLSocket socket =
        (SSLSocket) context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(TIMEOUT_MS);
    socket.startHandshake();
    return socket;
  }

  /** Asks for health over a connection of HTTP, which stays open; returns the status line. */
  static String ask(Socket socket) throws IOException {
    byte[] request =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    socket.getOutputStream().write(request);
    StringBuilder answer = new StringBuilder();
    InputStream in = socket.getInputStream();
    int body = -1;
    while (body != 0) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("the connection has ended");
      }
      answer.append((char) next);
      if (body > 0) {
        body--;
      } else if (answer.toString().endsWith("\r\n\r\n")) {
        body = contentLength(answer.toString());
      }
    }
    return answer.substring(0, answer.indexOf("\r\n"));
  }

  private static int contentLength(String headers) {
    return headers
        .lines()
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith("content-length:"))
        .mapToInt(line -> Integer.parseInt(line.substring(line.indexOf(':') + 1).strip()))
        .findFirst()
        .orElse(0);
  }
}
