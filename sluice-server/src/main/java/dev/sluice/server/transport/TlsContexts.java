package dev.sluice.server.transport;

import dev.sluice.proto.internal.PemFile;
import dev.sluice.server.TlsConfig;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * The contents of the files of {@link TlsConfig}, for each protocol.
 *
 * @param grpc for gRPC
 * @param http for HTTP
 * @param chain the server's certificate, followed by those of its issuers
 * @param clientCa the certificates that may sign those of callers; empty if callers need none
 */
public record TlsContexts(
    SslContext grpc, SSLContext http, List<X509Certificate> chain, List<X509Certificate> clientCa) {
  public static final List<String> PROTOCOLS = List.of("TLSv1.3", "TLSv1.2");

  /**
   * Reads and checks the files.
   *
   * @throws IOException if one cannot be read
   * @throws IllegalArgumentException if a file does not contain the expected PEM
   */
  static TlsContexts read(TlsConfig files) throws IOException {
    List<X509Certificate> chain = PemFile.certificates("tls certificate", files.certificate());
    PrivateKey key = PemFile.privateKey("tls key", files.key());
    if (!PemFile.belongTogether(key, chain.get(0))) {
      throw new IllegalArgumentException(
          "the tls key must be that of the tls certificate: key=%s, certificate=%s"
              .formatted(files.key(), files.certificate()));
    }
    List<X509Certificate> clientCa =
        files.clientCa() == null
            ? List.of()
            : PemFile.certificates("tls client CA", files.clientCa());
    try {
      return new TlsContexts(
          forGrpc(key, chain, clientCa), forHttp(key, chain, clientCa), chain, clientCa);
    } catch (GeneralSecurityException | SSLException unusable) {
      throw new IllegalArgumentException(
          "the tls certificate cannot be used: %s: %s"
              .formatted(files.certificate(), unusable.getMessage()),
          unusable);
    }
  }

  /** Returns the server's own certificate. */
  X509Certificate certificate() {
    return chain.get(0);
  }

  private static SslContext forGrpc(
      PrivateKey key, List<X509Certificate> chain, List<X509Certificate> clientCa)
      throws SSLException {
    SslContextBuilder builder =
        GrpcSslContexts.configure(
                SslContextBuilder.forServer(key, chain.toArray(X509Certificate[]::new)))
            .protocols(PROTOCOLS);
    if (!clientCa.isEmpty()) {
      builder.trustManager(clientCa.toArray(X509Certificate[]::new)).clientAuth(ClientAuth.REQUIRE);
    }
    return builder.build();
  }

  private static SSLContext forHttp(
      PrivateKey key, List<X509Certificate> chain, List<X509Certificate> clientCa)
      throws GeneralSecurityException, IOException {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keyManagers(key, chain), trustManagers(clientCa), null);
    return context;
  }

  private static KeyManager[] keyManagers(PrivateKey key, List<X509Certificate> chain)
      throws GeneralSecurityException, IOException {
    char[] none = new char[0];
    KeyStore store = emptyStore();
    store.setKeyEntry("server", key, none, chain.toArray(X509Certificate[]::new));
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, none);
    return factory.getKeyManagers();
  }

  private static TrustManager @Nullable [] trustManagers(List<X509Certificate> clientCa)
      throws GeneralSecurityException, IOException {
    if (clientCa.isEmpty()) {
      return null;
    }
    KeyStore store = emptyStore();
    for (int i = 0; i < clientCa.size(); i++) {
      store.setCertificateEntry("ca" + i, clientCa.get(i));
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }
}
