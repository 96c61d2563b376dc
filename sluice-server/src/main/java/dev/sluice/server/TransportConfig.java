package dev.sluice.server;

import java.time.Duration;

/**
 * How much callers may take up.
 *
 * @param maxConnections open connections, of gRPC and of HTTP each; at most one for each 128 KiB
 *     and four times {@code maxHeaderBytes} of the largest heap
 * @param maxStreamsPerConnection calls that are open at once on one connection of gRPC
 * @param maxRequestBytes the largest request, on either wire
 * @param maxHeaderBytes the headers of a request together
 * @param drain how long calls may take to end when the server closes
 * @since 0.1
 */
public record TransportConfig(
    int maxConnections,
    int maxStreamsPerConnection,
    int maxRequestBytes,
    int maxHeaderBytes,
    Duration drain) {
  // Before DEFAULTS, which it checks.
  private static final Duration MAX_DRAIN = Duration.ofHours(1);

  /** 10,000 connections of 10,000 streams, 24 MiB, 16 KiB, 10 s. */
  public static final TransportConfig DEFAULTS =
      new TransportConfig(10_000, 10_000, 24 << 20, 16 << 10, Duration.ofSeconds(10));

  /** Checks every part. */
  public TransportConfig {
    requireBetween("maxConnections", maxConnections, 1, 1_000_000);
    requireBetween("maxStreamsPerConnection", maxStreamsPerConnection, 1, 1_000_000);
    requireBetween("maxRequestBytes", maxRequestBytes, 1_024, 1 << 30);
    requireBetween("maxHeaderBytes", maxHeaderBytes, 1_024, 1 << 20);
    if (drain.isNegative() || drain.compareTo(MAX_DRAIN) > 0) {
      throw new IllegalArgumentException("drain must be from 0 to 1 h, but was " + drain);
    }
  }

  private static void requireBetween(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s must be from %d to %d, but was %d".formatted(name, least, most, value));
    }
  }
}
