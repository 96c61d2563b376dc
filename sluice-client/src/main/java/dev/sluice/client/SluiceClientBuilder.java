package dev.sluice.client;

import dev.sluice.client.internal.ChannelFactory;
import dev.sluice.client.internal.GrpcConnection;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Builds a {@link SluiceClient}. Not thread-safe.
 *
 * @since 0.1
 */
public final class SluiceClientBuilder {
  /** DEL, the first character after the visible ones of ASCII. */
  private static final int DELETE = 0x7f;

  private final ChannelFactory channels;
  private Duration callTimeout = Duration.ofSeconds(30);
  private int maxMessageBytes = 16 << 20;

  SluiceClientBuilder(String host, int port) {
    if (host.isBlank()) {
      throw new IllegalArgumentException("host must not be blank");
    }
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException("port must be from 1 to 65535, but was " + port);
    }
    channels = new ChannelFactory(host, port);
  }

  /**
   * Sets the API key that authenticates this client.
   *
   * @param key visible ASCII characters, because it is sent in a header
   * @return this builder
   */
  public SluiceClientBuilder apiKey(String key) {
    if (key.isEmpty() || !key.chars().allMatch(each -> each > ' ' && each < DELETE)) {
      // Without the key: messages of exceptions are logged.
      throw new IllegalArgumentException(
          "API key must have 1 or more visible ASCII characters without spaces, but had %d characters"
              .formatted(key.length()));
    }
    channels.apiKey(key);
    return this;
  }

  /**
   * Uses TLS. The server's certificate must be trusted by the Java runtime.
   *
   * @return this builder
   */
  public SluiceClientBuilder tls() {
    channels.tls();
    return this;
  }

  /**
   * Uses TLS. The server's certificate must be issued by one of the given ones.
   *
   * @param certificates a PEM file
   * @return this builder
   */
  public SluiceClientBuilder trust(Path certificates) {
    channels.trust(certificates);
    return this;
  }

  /**
   * Uses TLS with a certificate that identifies this client.
   *
   * @param certificateChain a PEM file
   * @param key a PEM file with its RSA or EC private key, unencrypted: PKCS #8, PKCS #1 or SEC1
   * @return this builder
   */
  public SluiceClientBuilder identity(Path certificateChain, Path key) {
    channels.identity(certificateChain, key);
    return this;
  }

  /**
   * Sets the longest time that a call waits for its response, and {@code close} for open calls.
   *
   * @param timeout 30 seconds by default
   * @return this builder
   */
  public SluiceClientBuilder callTimeout(Duration timeout) {
    if (timeout.isNegative() || timeout.isZero()) {
      throw new IllegalArgumentException("call timeout must be positive, but was " + timeout);
    }
    callTimeout = timeout;
    return this;
  }

  /**
   * Sets the size of the largest message; sending a larger one fails without a call.
   *
   * @param bytes of payload and headers; 16 MiB by default, like the server's
   * @return this builder
   */
  public SluiceClientBuilder maxMessageBytes(int bytes) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("maxMessageBytes must be positive, but was " + bytes);
    }
    maxMessageBytes = bytes;
    return this;
  }

  /**
   * Returns the client, which connects on first use.
   *
   * @return the client
   * @throws IllegalArgumentException if a file of {@link #trust} or {@link #identity} cannot be
   *     read or has the wrong content
   */
  public SluiceClient build() {
    return new SluiceClient(new GrpcConnection(channels.create(), callTimeout, maxMessageBytes));
  }
}
