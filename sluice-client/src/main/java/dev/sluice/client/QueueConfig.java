package dev.sluice.client;

import com.google.protobuf.FieldMask;
import java.time.Duration;
import java.util.Collections;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/**
 * How a queue behaves. {@link #defaults} and then {@code with…}; the server checks the values.
 *
 * <p>A settings object remembers which settings were given by {@code with…}; {@link
 * SluiceClient#changeQueue} changes only these.
 *
 * @since 0.1
 */
public final class QueueConfig {
  private final dev.sluice.proto.v1.QueueConfig wire;

  /** Names of the fields that were given. */
  private final Set<String> given;

  QueueConfig(dev.sluice.proto.v1.QueueConfig wire) {
    this(wire, Set.of());
  }

  private QueueConfig(dev.sluice.proto.v1.QueueConfig wire, Set<String> given) {
    this.wire = wire;
    this.given = given;
  }

  private QueueConfig with(dev.sluice.proto.v1.QueueConfig.Builder changed, int... fields) {
    Set<String> all = new TreeSet<>(given);
    for (int field : fields) {
      all.add(dev.sluice.proto.v1.QueueConfig.getDescriptor().findFieldByNumber(field).getName());
    }
    return new QueueConfig(changed.build(), Collections.unmodifiableSet(all));
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
   * Returns settings of which none is given: each has the server's default.
   *
   * @return the settings
   */
  public static QueueConfig defaults() {
    return new QueueConfig(dev.sluice.proto.v1.QueueConfig.getDefaultInstance());
  }

  /**
   * With another lease.
   *
   * @param lease how long a delivered message is held
   * @return the settings
   */
  public QueueConfig withLease(Duration lease) {
    return with(
        wire.toBuilder().setLeaseTimeoutMs(lease.toMillis()),
        dev.sluice.proto.v1.QueueConfig.LEASE_TIMEOUT_MS_FIELD_NUMBER);
  }

  /**
   * With another durability.
   *
   * @param durability what an answer is worth
   * @return the settings
   */
  public QueueConfig withDurability(Durability durability) {
    return with(
        wire.toBuilder().setDurability(dev.sluice.proto.v1.Durability.valueOf(durability.name())),
        dev.sluice.proto.v1.QueueConfig.DURABILITY_FIELD_NUMBER);
  }

  /**
   * With a script that is asked about each message that comes in.
   *
   * @param lua the script; empty for none
   * @return the settings
   */
  public QueueConfig withOnEnqueue(String lua) {
    return with(
        wire.toBuilder().setOnEnqueue(lua),
        dev.sluice.proto.v1.QueueConfig.ON_ENQUEUE_FIELD_NUMBER);
  }

  /**
   * With a script that is asked about each failure.
   *
   * @param lua the script; empty for none
   * @return the settings
   */
  public QueueConfig withOnFailure(String lua) {
    return with(
        wire.toBuilder().setOnFailure(lua),
        dev.sluice.proto.v1.QueueConfig.ON_FAILURE_FIELD_NUMBER);
  }

  /**
   * With another number of attempts.
   *
   * @param attempts failures after which a message is a dead letter; 0: no limit
   * @return the settings
   */
  public QueueConfig withMaxAttempts(int attempts) {
    return with(
        wire.toBuilder().setMaxAttempts(attempts),
        dev.sluice.proto.v1.QueueConfig.MAX_ATTEMPTS_FIELD_NUMBER);
  }

  /**
   * With another delay after the first failure; {@code on_failure} decides instead if there is one.
   *
   * @param delay the longest delay, which doubles with each further failure; zero: no delay
   * @return the settings
   */
  public QueueConfig withRetryDelay(Duration delay) {
    return with(
        wire.toBuilder().setRetryDelayMs(delay.toMillis()),
        dev.sluice.proto.v1.QueueConfig.RETRY_DELAY_MS_FIELD_NUMBER);
  }

  /**
   * With another longest delay.
   *
   * @param delay the longest delay after any failure
   * @return the settings
   */
  public QueueConfig withMaxRetryDelay(Duration delay) {
    return with(
        wire.toBuilder().setMaxRetryDelayMs(delay.toMillis()),
        dev.sluice.proto.v1.QueueConfig.MAX_RETRY_DELAY_MS_FIELD_NUMBER);
  }

  /**
   * With or without strict order.
   *
   * @param strict whether messages of one fairness key keep their order also over throttle keys
   * @return the settings
   */
  public QueueConfig withStrictOrder(boolean strict) {
    return with(
        wire.toBuilder().setStrictOrder(strict),
        dev.sluice.proto.v1.QueueConfig.STRICT_ORDER_FIELD_NUMBER);
  }

  /**
   * With a bound of depth.
   *
   * @param messages the most in all; 0: no limit
   * @return the settings
   */
  public QueueConfig withMaxDepth(long messages) {
    return with(
        wire.toBuilder().setMaxDepth(messages),
        dev.sluice.proto.v1.QueueConfig.MAX_DEPTH_FIELD_NUMBER);
  }

  /**
   * With a bound of depth for each fairness key.
   *
   * @param messages the most messages of a fairness key; 0: no limit
   * @return the settings
   */
  public QueueConfig withMaxDepthPerKey(long messages) {
    return with(
        wire.toBuilder().setMaxDepthPerKey(messages),
        dev.sluice.proto.v1.QueueConfig.MAX_DEPTH_PER_KEY_FIELD_NUMBER);
  }

  /**
   * With a bound of leased messages.
   *
   * @param perKey the most of a fairness key; 0: no limit
   * @return the settings
   */
  public QueueConfig withMaxInFlightPerKey(int perKey) {
    return with(
        wire.toBuilder().setMaxInFlightPerKey(perKey),
        dev.sluice.proto.v1.QueueConfig.MAX_IN_FLIGHT_PER_KEY_FIELD_NUMBER);
  }

  /**
   * With a time after which messages fail.
   *
   * @param timeToLive zero: never
   * @return the settings
   */
  public QueueConfig withTimeToLive(Duration timeToLive) {
    return with(
        wire.toBuilder().setTimeToLiveMs(timeToLive.toMillis()),
        dev.sluice.proto.v1.QueueConfig.TIME_TO_LIVE_MS_FIELD_NUMBER);
  }

  /**
   * With a window in which a second message of one dedupe id is the first one.
   *
   * @param window zero: no deduplication
   * @return the settings
   */
  public QueueConfig withDedupeWindow(Duration window) {
    return with(
        wire.toBuilder().setDedupeWindowMs(window.toMillis()),
        dev.sluice.proto.v1.QueueConfig.DEDUPE_WINDOW_MS_FIELD_NUMBER);
  }

  /**
   * With or without a check that producers name only throttle keys that have a rate.
   *
   * @param strict true to refuse messages that name others
   * @return the settings
   */
  public QueueConfig withStrictThrottleKeys(boolean strict) {
    return with(
        wire.toBuilder().setStrictThrottleKeys(strict),
        dev.sluice.proto.v1.QueueConfig.STRICT_THROTTLE_KEYS_FIELD_NUMBER);
  }

  /**
   * Returns whether messages are refused whose producer names a throttle key without a rate.
   *
   * @return true if they are refused
   */
  public boolean strictThrottleKeys() {
    return wire.getStrictThrottleKeys();
  }

  /**
   * How long a delivered message is held.
   *
   * @return zero: the server's default
   */
  public Duration lease() {
    return Duration.ofMillis(wire.getLeaseTimeoutMs());
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
   * @return 0: no limit; empty: the server's default
   */
  public OptionalInt maxAttempts() {
    return wire.hasMaxAttempts() ? OptionalInt.of(wire.getMaxAttempts()) : OptionalInt.empty();
  }

  /**
   * The longest delay after the first failure, doubled with each further one.
   *
   * @return zero: no delay; empty: the server's default
   */
  public Optional<Duration> retryDelay() {
    return wire.hasRetryDelayMs()
        ? Optional.of(Duration.ofMillis(wire.getRetryDelayMs()))
        : Optional.empty();
  }

  /**
   * The longest delay after any failure.
   *
   * @return empty: the server's default
   */
  public Optional<Duration> maxRetryDelay() {
    return wire.hasMaxRetryDelayMs()
        ? Optional.of(Duration.ofMillis(wire.getMaxRetryDelayMs()))
        : Optional.empty();
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

  /**
   * Returns whether a setting was given by {@code with…}, so that {@link SluiceClient#changeQueue}
   * has something to change.
   *
   * @return true if at least one was
   */
  public boolean hasChanges() {
    return !given.isEmpty();
  }

  dev.sluice.proto.v1.QueueConfig toWire() {
    return wire;
  }

  /** The fields that were given by {@code with…}. */
  FieldMask given() {
    return FieldMask.newBuilder().addAllPaths(given).build();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof QueueConfig same && wire.equals(same.wire);
  }

  @Override
  public int hashCode() {
    return wire.hashCode();
  }

  @Override
  public String toString() {
    return "QueueConfig[" + wire.toString().strip().replace("\n", ", ") + "]";
  }
}
