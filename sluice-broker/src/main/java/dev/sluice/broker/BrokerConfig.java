package dev.sluice.broker;

import static dev.sluice.broker.QueueNames.requireBetween;
import static dev.sluice.broker.QueueNames.requireDuration;

import java.time.Duration;
import java.util.Objects;

/**
 * How a broker behaves as a whole.
 *
 * @param maxMessageBytes the largest message, payload and headers together
 * @param maxInboundBytes how much may be on its way into the broker before it is {@code BUSY}
 * @param diskReserveBytes below so much free space messages are refused, so that those there are
 *     can be settled; opening the directory again needs some 256 MiB. What the broker has yet to
 *     write to table files counts as used. 0: never refused, a full disk stops the broker
 * @param syncInterval how soon operations on queues of {@link Durability#INTERVAL} are on the disk
 * @param hookThreads threads that run scripts, of all queues together; 0 for half of the
 *     processors, at least one
 * @param metrics told what happens
 * @since 0.1
 */
public record BrokerConfig(
    int maxMessageBytes,
    long maxInboundBytes,
    long diskReserveBytes,
    Duration syncInterval,
    int hookThreads,
    BrokerMetrics metrics) {
  private static final int MEBIBYTE = 1 << 20;
  private static final int MAX_HOOK_THREADS = 1_024;
  private static final BrokerConfig DEFAULTS =
      new BrokerConfig(
          16 * MEBIBYTE,
          64L * MEBIBYTE,
          512L * MEBIBYTE,
          Duration.ofMillis(100),
          0,
          BrokerMetrics.NONE);

  /** Checks every part. */
  public BrokerConfig {
    requireBetween("maxMessageBytes", maxMessageBytes, 1, 256L * MEBIBYTE);
    requireBetween("maxInboundBytes", maxInboundBytes, maxMessageBytes, 1L << 40);
    requireBetween("diskReserveBytes", diskReserveBytes, 0, Long.MAX_VALUE);
    requireDuration("syncInterval", syncInterval, Duration.ofMillis(1), Duration.ofHours(1));
    requireBetween("hookThreads", hookThreads, 0, MAX_HOOK_THREADS);
    Objects.requireNonNull(metrics, "metrics");
  }

  /**
   * Messages of up to 16 MiB, 64 MiB on their way, a reserve of 512 MiB, 100 ms, scripts on half of
   * the processors.
   *
   * @return the configuration that a broker has unless told otherwise
   */
  public static BrokerConfig defaults() {
    return DEFAULTS;
  }

  /**
   * The same, with another largest message.
   *
   * @param bytes from 1 to 256 MiB
   * @return the configuration
   */
  public BrokerConfig withMaxMessageBytes(int bytes) {
    return new BrokerConfig(
        bytes,
        Math.max(bytes, maxInboundBytes),
        diskReserveBytes,
        syncInterval,
        hookThreads,
        metrics);
  }

  /**
   * The same, with another limit of what is on its way in.
   *
   * @param bytes at least {@link #maxMessageBytes}
   * @return the configuration
   */
  public BrokerConfig withMaxInboundBytes(long bytes) {
    return new BrokerConfig(
        maxMessageBytes, bytes, diskReserveBytes, syncInterval, hookThreads, metrics);
  }

  /**
   * The same, with another reserve of free space.
   *
   * @param bytes at least 0
   * @return the configuration
   */
  public BrokerConfig withDiskReserveBytes(long bytes) {
    return new BrokerConfig(
        maxMessageBytes, maxInboundBytes, bytes, syncInterval, hookThreads, metrics);
  }

  /**
   * The same, with another interval between syncs.
   *
   * @param interval from 1 ms to 1 h
   * @return the configuration
   */
  public BrokerConfig withSyncInterval(Duration interval) {
    return new BrokerConfig(
        maxMessageBytes, maxInboundBytes, diskReserveBytes, interval, hookThreads, metrics);
  }

  /**
   * The same, with another number of threads for scripts.
   *
   * @param count from 1 to 1,024; 0 for half of the processors, at least one
   * @return the configuration
   */
  public BrokerConfig withHookThreads(int count) {
    return new BrokerConfig(
        maxMessageBytes, maxInboundBytes, diskReserveBytes, syncInterval, count, metrics);
  }

  /**
   * The same, with somebody who counts.
   *
   * @param listener told what happens
   * @return the configuration
   */
  public BrokerConfig withMetrics(BrokerMetrics listener) {
    return new BrokerConfig(
        maxMessageBytes, maxInboundBytes, diskReserveBytes, syncInterval, hookThreads, listener);
  }
}
