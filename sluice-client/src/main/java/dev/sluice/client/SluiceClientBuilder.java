package dev.sluice.client;

import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.proto.internal.PemFile;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
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
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * How to reach a server; from {@link SluiceClient#builder}. Not thread-safe.
 *
 * @since 0.1
 */
public final class SluiceClientBuilder {
  /** The first character behind the visible ones of ASCII. */
  private static final int DELETE = 0x7f;

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** What a server stores by default; its requests may be larger than that. */
  private static final int DEFAULT_MESSAGE_BYTES = 16 << 20;

  /** A response has many messages, and its size is the server's choice. */
  private static final int MAX_RESPONSE_BYTES = 64 << 20;

  /** Servers end connections that are probed more often than every five minutes. */
  private static final long PROBE_MINUTES = 6;

  private final String host;
  private final int port;
  private @Nullable String apiKey;
  private boolean tls;
  private @Nullable Path trust;
  private @Nullable Path certificate;
  private @Nullable Path privateKey;
  private Duration callTimeout = Duration.ofSeconds(30);
  private int maxMessageBytes = DEFAULT_MESSAGE_BYTES;

  SluiceClientBuilder(String host, int port) {
    if (host.isBlank()) {
      throw new IllegalArgumentException("host must not be blank");
    }
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException("port must be from 1 to 65535: port=" + port);
    }
    this.host = host;
    this.port = port;
  }

  /**
   * With a key that says who calls.
   *
   * @param key as the server showed it: visible ASCII characters, so that a header can carry it
   * @return this
   */
  public SluiceClientBuilder apiKey(String key) {
    if (key.isEmpty() || !key.chars().allMatch(each -> each > ' ' && each < DELETE)) {
      // Not what it is: messages get into logs.
      throw new IllegalArgumentException(
          "API key must have 1 or more visible ASCII characters without spaces: %d characters"
              .formatted(key.length()));
    }
    apiKey = key;
    return this;
  }

  /**
   * Over TLS, to a server whose certificate the Java runtime trusts.
   *
   * @return this
   */
  public SluiceClientBuilder tls() {
    tls = true;
    return this;
  }

  /**
   * Over TLS, to a server whose certificate was issued by one of these.
   *
   * @param certificates a file in PEM format
   * @return this
   */
  public SluiceClientBuilder trust(Path certificates) {
    trust = certificates;
    return tls();
  }

  /**
   * Over TLS, with a certificate that says who calls.
   *
   * @param certificateChain a file in PEM format
   * @param key its private key of RSA or EC, unencrypted, in PEM format: PKCS #8, PKCS #1 or SEC1
   * @return this
   */
  public SluiceClientBuilder identity(Path certificateChain, Path key) {
    certificate = certificateChain;
    privateKey = key;
    return tls();
  }

  /**
   * How long to wait for an answer, and for what is under way when something is closed.
   *
   * @param timeout 30 seconds by default
   * @return this
   */
  public SluiceClientBuilder callTimeout(Duration timeout) {
    if (timeout.isNegative() || timeout.isZero()) {
      throw new IllegalArgumentException("call timeout must be positive: " + timeout);
    }
    callTimeout = timeout;
    return this;
  }

  /**
   * The largest message to send; larger ones fail before they are sent.
   *
   * @param bytes of payload and headers; 16 MiB by default, as the server has it
   * @return this
   */
  public SluiceClientBuilder maxMessageBytes(int bytes) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("maxMessageBytes must be positive: " + bytes);
    }
    maxMessageBytes = bytes;
    return this;
  }

  /**
   * Makes the client. It connects when it is first used.
   *
   * @return the client
   * @throws IllegalArgumentException if a file of {@link #trust} or {@link #identity} cannot be
   *     read or holds something else
   */
  public SluiceClient build() {
    ManagedChannelBuilder<?> channel =
        Grpc.newChannelBuilderForAddress(host, port, credentials())
            .maxInboundMessageSize(MAX_RESPONSE_BYTES)
            .keepAliveTime(PROBE_MINUTES, TimeUnit.MINUTES);
    if (apiKey != null) {
      Metadata headers = new Metadata();
      headers.put(AUTHORIZATION, "Bearer " + apiKey);
      channel.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
    }
    return new SluiceClient(new GrpcConnection(channel.build(), callTimeout, maxMessageBytes));
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

  /** Returns the key in the only encoding that gRPC reads. */
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
