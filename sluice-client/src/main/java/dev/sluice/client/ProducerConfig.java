package dev.sluice.client;

/**
 * How much a {@link Producer} may hold in memory, sent or not, until it is answered.
 *
 * @param maxWaitingMessages the most messages
 * @param maxWaitingBytes the most bytes; a single message may be larger
 * @since 0.1
 */
public record ProducerConfig(int maxWaitingMessages, long maxWaitingBytes) {
  /** Checks the values. */
  public ProducerConfig {
    if (maxWaitingMessages <= 0 || maxWaitingBytes <= 0) {
      throw new IllegalArgumentException(
          "maxWaitingMessages and maxWaitingBytes must be positive: %d, %d"
              .formatted(maxWaitingMessages, maxWaitingBytes));
    }
  }

  /**
   * 10,000 messages and 64 MiB.
   *
   * @return the settings
   */
  public static ProducerConfig defaults() {
    return new ProducerConfig(10_000, 64L << 20);
  }
}
