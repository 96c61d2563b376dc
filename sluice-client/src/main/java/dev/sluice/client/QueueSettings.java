package dev.sluice.client;

import dev.sluice.proto.v1.QueueConfig;
import java.time.Duration;

/**
 * How a queue behaves. {@link #defaults} and then {@code with…}; the server checks the values.
 *
 * @since 0.1
 */
public final class QueueSettings {
  private final QueueConfig wire;

  QueueSettings(QueueConfig wire) {
    this.wire = wire;
  }

  /** What an answer to a producer is worth. */
  public enum Durability {
    /** It is synced to disk. */
    ALWAYS,
    /** It is written, and synced within the server's interval. */
    INTERVAL,
    /** It is written; the operating system syncs when it likes. */
    OS
  }

  /**
   * As the server has it.
   *
   * @return the settings
   */
  public static QueueSettings defaults() {
    return new QueueSettings(QueueConfig.getDefaultInstance());
  }

  /**
   * With another lease.
   *
   * @param lease how long a delivered message is held
   * @return the settings
   */
  public QueueSettings withLease(Duration lease) {
    return new QueueSettings(wire.toBuilder().setLeaseMs(lease.toMillis()).build());
  }

  /**
   * With another durability.
   *
   * @param durability what an answer is worth
   * @return the settings
   */
  public QueueSettings withDurability(Durability durability) {
    return new QueueSettings(
        wire.toBuilder()
            .setDurability(dev.sluice.proto.v1.Durability.valueOf(durability.name()))
            .build());
  }

  /**
   * With a script that is asked about each message that comes in.
   *
   * @param lua the script; empty for none
   * @return the settings
   */
  public QueueSettings withOnEnqueue(String lua) {
    return new QueueSettings(wire.toBuilder().setOnEnqueue(lua).build());
  }

  /**
   * With a script that is asked about each failure.
   *
   * @param lua the script; empty for none
   * @return the settings
   */
  public QueueSettings withOnFailure(String lua) {
    return new QueueSettings(wire.toBuilder().setOnFailure(lua).build());
  }

  /**
   * With another number of attempts.
   *
   * @param attempts failures after which a message is a dead letter; 0: never by count
   * @return the settings
   */
  public QueueSettings withMaxAttempts(int attempts) {
    return new QueueSettings(wire.toBuilder().setMaxAttempts(attempts).build());
  }

  /**
   * With or without strict order.
   *
   * @param strict whether messages of one fairness key keep their order also over throttle keys
   * @return the settings
   */
  public QueueSettings withStrictOrder(boolean strict) {
    return new QueueSettings(wire.toBuilder().setStrictOrder(strict).build());
  }

  /**
   * With bounds of depth.
   *
   * @param inAll the most messages in all; 0: no limit
   * @param perKey the most messages of a fairness key; 0: no limit
   * @return the settings
   */
  public QueueSettings withMaxDepth(long inAll, long perKey) {
    return new QueueSettings(wire.toBuilder().setMaxDepth(inAll).setMaxDepthPerKey(perKey).build());
  }

  /**
   * With a bound of leased messages.
   *
   * @param perKey the most of a fairness key; 0: no limit
   * @return the settings
   */
  public QueueSettings withMaxInFlightPerKey(int perKey) {
    return new QueueSettings(wire.toBuilder().setMaxInFlightPerKey(perKey).build());
  }

  /**
   * With a time after which messages fail.
   *
   * @param timeToLive zero: never
   * @return the settings
   */
  public QueueSettings withTimeToLive(Duration timeToLive) {
    return new QueueSettings(wire.toBuilder().setTimeToLiveMs(timeToLive.toMillis()).build());
  }

  /**
   * With a window in which a second message of one dedupe id is the first one.
   *
   * @param window zero: no deduplication
   * @return the settings
   */
  public QueueSettings withDedupeWindow(Duration window) {
    return new QueueSettings(wire.toBuilder().setDedupeWindowMs(window.toMillis()).build());
  }

  /**
   * How long a delivered message is held.
   *
   * @return zero: the server's default
   */
  public Duration lease() {
    return Duration.ofMillis(wire.getLeaseMs());
  }

  /**
   * What an answer to a producer is worth.
   *
   * @return the durability
   */
  public Durability durability() {
    return switch (wire.getDurability()) {
      case INTERVAL -> Durability.INTERVAL;
      case OS -> Durability.OS;
      case ALWAYS, DURABILITY_UNSPECIFIED, UNRECOGNIZED -> Durability.ALWAYS;
    };
  }

  /**
   * The script that is asked about each message that comes in.
   *
   * @return empty: none
   */
  public String onEnqueue() {
    return wire.getOnEnqueue();
  }

  /**
   * The script that is asked about each failure.
   *
   * @return empty: none
   */
  public String onFailure() {
    return wire.getOnFailure();
  }

  /**
   * Failures after which a message is a dead letter.
   *
   * @return 0: never by count
   */
  public int maxAttempts() {
    return wire.getMaxAttempts();
  }

  /**
   * Whether messages of one fairness key keep their order also over throttle keys.
   *
   * @return true if so
   */
  public boolean strictOrder() {
    return wire.getStrictOrder();
  }

  /**
   * The most messages in all.
   *
   * @return 0: no limit
   */
  public long maxDepth() {
    return wire.getMaxDepth();
  }

  /**
   * The most messages of a fairness key.
   *
   * @return 0: no limit
   */
  public long maxDepthPerKey() {
    return wire.getMaxDepthPerKey();
  }

  /**
   * The most leased messages of a fairness key.
   *
   * @return 0: no limit
   */
  public int maxInFlightPerKey() {
    return wire.getMaxInFlightPerKey();
  }

  /**
   * When messages fail.
   *
   * @return zero: never
   */
  public Duration timeToLive() {
    return Duration.ofMillis(wire.getTimeToLiveMs());
  }

  /**
   * In which window a second message of one dedupe id is the first one.
   *
   * @return zero: no deduplication
   */
  public Duration dedupeWindow() {
    return Duration.ofMillis(wire.getDedupeWindowMs());
  }

  QueueConfig toWire() {
    return wire;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof QueueSettings same && wire.equals(same.wire);
  }

  @Override
  public int hashCode() {
    return wire.hashCode();
  }

  @Override
  public String toString() {
    return "QueueSettings[" + wire.toString().strip().replace("\n", ", ") + "]";
  }
}
