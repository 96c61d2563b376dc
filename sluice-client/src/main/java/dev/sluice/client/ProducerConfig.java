package dev.sluice.client;

/**
 * The bounds of a {@link Producer}'s buffer, which holds messages until the server confirms them.
 *
 * @param maxBufferedMessages the most messages
 * @param maxBufferedBytes the most bytes; a single message may be larger
 * @since 0.1
 */
public record ProducerConfig(int maxBufferedMessages, long maxBufferedBytes) {
  /** Checks the values. */
  public ProducerConfig {
    if (maxBufferedMessages <= 0 || maxBufferedBytes <= 0) {
      throw new IllegalArgumentException(
          "maxBufferedMessages and maxBufferedBytes must be positive, but were %d and %d"
              .formatted(maxBufferedMessages, maxBufferedBytes));
    }
  }

  /**
   * Returns 10,000 messages and 64 MiB.
   *
   * @return the configuration
   */
  public static ProducerConfig defaults() {
    return new ProducerConfig(10_000, 64L << 20);
  }
}
