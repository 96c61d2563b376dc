package dev.sluice.redis.internal.connection;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a connection.
 *
 * @param timeout the longest time to a reply
 * @param trust a file of certificates in PEM; null for those that the JVM trusts
 * @param scripts the scripts to load when the connection is opened
 * @param threads the prefix of its thread names
 * @since 0.1
 */
public record ConnectionConfig(
    Duration timeout, @Nullable Path trust, List<LuaScript> scripts, String threads) {
  private static final Duration MIN_TIMEOUT = Duration.ofMillis(1);
  private static final Duration MAX_TIMEOUT = Duration.ofMinutes(1);

  /** Copies the list. */
  public ConnectionConfig {
    scripts = List.copyOf(scripts);
  }

  /**
   * Checks a time-out.
   *
   * @throws IllegalArgumentException if it is below 1 ms or above a minute
   */
  public static Duration requireTimeout(Duration timeout) {
    if (timeout.compareTo(MIN_TIMEOUT) < 0 || timeout.compareTo(MAX_TIMEOUT) > 0) {
      throw new IllegalArgumentException(
          "timeout must be from %s to %s, but was %s".formatted(MIN_TIMEOUT, MAX_TIMEOUT, timeout));
    }
    return timeout;
  }

  /**
   * Checks a number of nodes.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static int requireNodes(int nodes) {
    if (nodes < 1) {
      throw new IllegalArgumentException("nodes must be positive, but was " + nodes);
    }
    return nodes;
  }

  /**
   * Checks a file of certificates.
   *
   * @throws IllegalArgumentException if it cannot be read
   */
  public static Path requireReadable(Path certificates) {
    if (!Files.isReadable(certificates)) {
      throw new IllegalArgumentException(
          "certificates must be a readable file, but was " + certificates);
    }
    return certificates;
  }
}
