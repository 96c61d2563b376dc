package dev.sluice.client.internal;

import dev.sluice.proto.internal.PemFile;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Creates the gRPC channel of a client. Not thread-safe. */
public final class ChannelFactory {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** A response has many messages, and its size is the server's choice. */
  private static final int MAX_RESPONSE_BYTES = 64 << 20;

  /** Servers close connections that send keepalive pings more often than every five minutes. */
  private static final long KEEPALIVE_MINUTES = 6;

  private final String host;
  private final int port;
  private @Nullable String apiKey;
  private boolean tls;
  private @Nullable Path trust;
  private @Nullable Path certificate;
  private @Nullable Path privateKey;

  public ChannelFactory(String host, int port) {
    this.host = host;
    this.port = port;
  }

  public void apiKey(String key) {
    apiKey = key;
  }

  public void tls() {
    tls = true;
  }

  public void trust(Path certificates) {
    trust = certificates;
    tls = true;
  }

  public void identity(Path certificateChain, Path key) {
    certificate = certificateChain;
    privateKey = key;
    tls = true;
  }

  /**
   * Creates a channel, which connects on its first call.
   *
   * @throws IllegalArgumentException if a PEM file cannot be read or has the wrong content
   */
  public ManagedChannel create() {
    ManagedChannelBuilder<?> channel =
        Grpc.newChannelBuilderForAddress(host, port, credentials())
            .maxInboundMessageSize(MAX_RESPONSE_BYTES)
            .keepAliveTime(KEEPALIVE_MINUTES, TimeUnit.MINUTES);
    if (apiKey != null) {
      Metadata headers = new Metadata();
      headers.put(AUTHORIZATION, "Bearer " + apiKey);
      channel.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
    }
    return channel.build();
  }

  private ChannelCredentials credentials() {
    if (!tls) {
      return InsecureChannelCredentials.create();
    }
    TlsChannelCredentials.Builder credentials = TlsChannelCredentials.newBuilder();
    try {
      if (trust != null) {
        credentials.trustManager(trust.toFile());
      }
      if (certificate != null && privateKey != null) {
        credentials.keyManager(
            new ByteArrayInputStream(PemFile.read("tls certificate", certificate)),
            pkcs8(certificate, privateKey));
      }
      return credentials.build();
    } catch (IOException unreadable) {
      throw new IllegalArgumentException(
          "files of TLS must be readable: " + unreadable.getMessage(), unreadable);
    }
  }

  /** Returns the private key in the only encoding that gRPC reads. */
  private static InputStream pkcs8(Path certificate, Path file) throws IOException {
    PrivateKey key = PemFile.privateKey("tls key", file);
    if (!PemFile.belongTogether(key, PemFile.certificates("tls certificate", certificate).get(0))) {
      throw new IllegalArgumentException(
          "the tls key must be that of the tls certificate: key=%s, certificate=%s"
              .formatted(file, certificate));
    }
    String pem =
        "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n"
            .formatted(Base64.getMimeEncoder().encodeToString(key.getEncoded()));
    return new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII));
  }
}
