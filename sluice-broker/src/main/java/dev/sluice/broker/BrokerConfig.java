package dev.sluice.broker;

import static dev.sluice.broker.internal.util.Checks.requireBetween;
import static dev.sluice.broker.internal.util.Checks.requireDuration;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a broker.
 *
 * <p>Immutable.
 *
 * @since 0.1
 */
public final class BrokerConfig {
  private static final int MEBIBYTE = 1 << 20;
  private static final int MAX_HOOK_THREADS = 1_024;
  private static final BrokerConfig DEFAULTS = builder().build();

  private final int maxMessageBytes;
  private final long maxInboundBytes;
  private final long diskReserveBytes;
  private final Duration syncInterval;
  private final int hookThreads;
  private final BrokerMetrics metrics;

  private BrokerConfig(Builder builder) {
    this.maxMessageBytes = builder.maxMessageBytes;
    this.maxInboundBytes = builder.maxInboundBytes;
    this.diskReserveBytes = builder.diskReserveBytes;
    this.syncInterval = builder.syncInterval;
    this.hookThreads = builder.hookThreads;
    this.metrics = builder.metrics;
    requireBetween("maxMessageBytes", maxMessageBytes, 1, 256L * MEBIBYTE);
    requireBetween("maxInboundBytes", maxInboundBytes, maxMessageBytes, 1L << 40);
    requireBetween("diskReserveBytes", diskReserveBytes, 0, Long.MAX_VALUE);
    requireDuration("syncInterval", syncInterval, Duration.ofMillis(1), Duration.ofHours(1));
    requireBetween("hookThreads", hookThreads, 0, MAX_HOOK_THREADS);
  }

  /**
   * Returns the default configuration: messages of up to 16 MiB, 64 MiB inbound, a disk reserve of
   * 512 MiB, a sync interval of 100 ms, hooks on half of the processors, no metrics.
   *
   * @return the configuration
   */
  public static BrokerConfig defaults() {
    return DEFAULTS;
  }

  /**
   * Returns a builder with the values of {@link #defaults}.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns a builder with the values of this configuration.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    return new Builder()
        .maxMessageBytes(maxMessageBytes)
        .maxInboundBytes(maxInboundBytes)
        .diskReserveBytes(diskReserveBytes)
        .syncInterval(syncInterval)
        .hookThreads(hookThreads)
        .metrics(metrics);
  }

  /**
   * Returns the size of the largest message, payload and headers together.
   *
   * @return a number of bytes
   */
  public int maxMessageBytes() {
    return maxMessageBytes;
  }

  /**
   * Returns the size of all messages that may be on their way into the broker.
   *
   * @return a number of bytes
   */
  public long maxInboundBytes() {
    return maxInboundBytes;
  }

  /**
   * Returns the free disk space below which messages are refused.
   *
   * @return a number of bytes; 0 if they never are
   */
  public long diskReserveBytes() {
    return diskReserveBytes;
  }

  /**
   * Returns the longest time until operations on queues of {@link Durability#INTERVAL} are synced.
   *
   * @return the interval
   */
  public Duration syncInterval() {
    return syncInterval;
  }

  /**
   * Returns the number of threads that run hooks.
   *
   * @return 0 for half of the processors
   */
  public int hookThreads() {
    return hookThreads;
  }

  /**
   * Returns the receiver of the broker's metrics.
   *
   * @return {@link BrokerMetrics#NONE} by default
   */
  public BrokerMetrics metrics() {
    return metrics;
  }

  private List<Object> values() {
    return List.of(
        maxMessageBytes, maxInboundBytes, diskReserveBytes, syncInterval, hookThreads, metrics);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof BrokerConfig that && values().equals(that.values());
  }

  @Override
  public int hashCode() {
    return values().hashCode();
  }

  @Override
  public String toString() {
    return "BrokerConfig" + values();
  }

  /** Builds a {@link BrokerConfig}. Not thread-safe. */
  public static final class Builder {
    private int maxMessageBytes = 16 * MEBIBYTE;
    private long maxInboundBytes = 64L * MEBIBYTE;
    private long diskReserveBytes = 512L * MEBIBYTE;
    private Duration syncInterval = Duration.ofMillis(100);
    private int hookThreads;
    private BrokerMetrics metrics = BrokerMetrics.NONE;

    private Builder() {}

    /**
     * Sets the size of the largest message, payload and headers together; raises {@link
     * #maxInboundBytes} to it if that is smaller.
     *
     * @param bytes from 1 to 256 MiB
     * @return this builder
     */
    public Builder maxMessageBytes(int bytes) {
      this.maxMessageBytes = bytes;
      this.maxInboundBytes = Math.max(bytes, maxInboundBytes);
      return this;
    }

    /**
     * Sets how many bytes of messages may be on their way into the broker before calls fail with
     * {@code BUSY}.
     *
     * @param bytes from {@link #maxMessageBytes} to 1 TiB
     * @return this builder
     */
    public Builder maxInboundBytes(long bytes) {
      this.maxInboundBytes = bytes;
      return this;
    }

    /**
     * Sets the free disk space below which messages are refused, so that stored ones can still be
     * settled. Data that the broker has yet to write to table files counts as used. Opening the
     * directory again needs some 256 MiB.
     *
     * @param bytes at least 0; 0 never refuses messages, and a full disk makes the broker wait
     * @return this builder
     */
    public Builder diskReserveBytes(long bytes) {
      this.diskReserveBytes = bytes;
      return this;
    }

    /**
     * Sets the longest time until operations on queues of {@link Durability#INTERVAL} are synced.
     *
     * @param interval from 1 ms to 1 h
     * @return this builder
     */
    public Builder syncInterval(Duration interval) {
      this.syncInterval = Objects.requireNonNull(interval, "syncInterval");
      return this;
    }

    /**
     * Sets the number of threads that run the hooks of all queues.
     *
     * @param count from 1 to 1,024; 0 for half of the processors, at least one
     * @return this builder
     */
    public Builder hookThreads(int count) {
      this.hookThreads = count;
      return this;
    }

    /**
     * Sets the receiver of metrics.
     *
     * @param receiver called on broker threads
     * @return this builder
     */
    public Builder metrics(BrokerMetrics receiver) {
      this.metrics = Objects.requireNonNull(receiver, "metrics");
      return this;
    }

    /**
     * Builds the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException if a value is out of range
     */
    public BrokerConfig build() {
      return new BrokerConfig(this);
    }
  }
}
