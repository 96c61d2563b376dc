package dev.sluice.client;

import com.google.protobuf.FieldMask;
import java.time.Duration;
import java.util.Collections;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/**
 * The configuration of a queue. Immutable; the server checks the values.
 *
 * <p>A configuration remembers which settings its {@link Builder} was given. {@link
 * SluiceClient#createQueue} and {@link SluiceClient#replaceQueue} use the server's defaults for the
 * others; {@link SluiceClient#updateQueue} leaves them as they are.
 *
 * @since 0.1
 */
public final class QueueConfig {
  private final dev.sluice.proto.v1.QueueConfig wire;

  /** Names of the fields that the builder was given. */
  private final Set<String> given;

  QueueConfig(dev.sluice.proto.v1.QueueConfig wire) {
    this(wire, Set.of());
  }

  private QueueConfig(dev.sluice.proto.v1.QueueConfig wire, Set<String> given) {
    this.wire = wire;
    this.given = given;
  }

  /** The moment at which the server confirms a stored message. */
  public enum Durability {
    /** Confirms after the message is synced to disk. */
    ALWAYS,
    /** Confirms after the message is written; it is synced within the server's interval. */
    INTERVAL,
    /** Confirms after the message is written; the operating system decides when to sync. */
    OS,
    /** A durability that this version of the client does not know. */
    OTHER
  }

  /**
   * Returns a configuration without any setting: the server's defaults apply.
   *
   * @return the configuration
   */
  public static QueueConfig defaults() {
    return new QueueConfig(dev.sluice.proto.v1.QueueConfig.getDefaultInstance());
  }

  /**
   * Returns a builder without any setting.
   *
   * @return the builder
   */
  public static Builder builder() {
    return defaults().toBuilder();
  }

  /**
   * Returns a builder with the settings of this configuration.
   *
   * @return the builder
   */
  public Builder toBuilder() {
    return new Builder(wire, given);
  }

  /**
   * Returns how long a consumer may hold a delivered message.
   *
   * @return zero: the server's default
   */
  public Duration leaseTimeout() {
    return Duration.ofMillis(wire.getLeaseTimeoutMs());
  }

  /**
   * Returns when the server confirms a stored message.
   *
   * @return the durability
   */
  public Durability durability() {
    return switch (wire.getDurability()) {
      case INTERVAL -> Durability.INTERVAL;
      case OS -> Durability.OS;
      case ALWAYS, DURABILITY_UNSPECIFIED -> Durability.ALWAYS;
      case UNRECOGNIZED -> Durability.OTHER;
    };
  }

  /**
   * Returns the hook that runs for each new message.
   *
   * @return a Lua script; empty: none
   */
  public String onEnqueue() {
    return wire.getOnEnqueue();
  }

  /**
   * Returns the hook that decides about each failed delivery.
   *
   * @return a Lua script; empty: none
   */
  public String onFailure() {
    return wire.getOnFailure();
  }

  /**
   * Returns the number of failures after which a message becomes a dead letter.
   *
   * @return 0: no limit; empty: the server's default
   */
  public OptionalInt maxAttempts() {
    return wire.hasMaxAttempts() ? OptionalInt.of(wire.getMaxAttempts()) : OptionalInt.empty();
  }

  /**
   * Returns the longest delay after the first failure; it doubles with each further one.
   *
   * @return zero: no delay; empty: the server's default
   */
  public Optional<Duration> retryDelay() {
    return wire.hasRetryDelayMs()
        ? Optional.of(Duration.ofMillis(wire.getRetryDelayMs()))
        : Optional.empty();
  }

  /**
   * Returns the longest delay after any failure.
   *
   * @return empty: the server's default
   */
  public Optional<Duration> maxRetryDelay() {
    return wire.hasMaxRetryDelayMs()
        ? Optional.of(Duration.ofMillis(wire.getMaxRetryDelayMs()))
        : Optional.empty();
  }

  /**
   * Returns whether messages of one fairness key keep their order even across throttle keys.
   *
   * @return true if they keep it
   */
  public boolean strictOrder() {
    return wire.getStrictOrder();
  }

  /**
   * Returns the most messages of the queue.
   *
   * @return 0: no limit
   */
  public long maxDepth() {
    return wire.getMaxDepth();
  }

  /**
   * Returns the most messages of each fairness key.
   *
   * @return 0: no limit
   */
  public long maxDepthPerKey() {
    return wire.getMaxDepthPerKey();
  }

  /**
   * Returns the most leased messages of each fairness key.
   *
   * @return 0: no limit
   */
  public int maxInFlightPerKey() {
    return wire.getMaxInFlightPerKey();
  }

  /**
   * Returns the time after which undelivered messages expire.
   *
   * @return zero: never
   */
  public Duration timeToLive() {
    return Duration.ofMillis(wire.getTimeToLiveMs());
  }

  /**
   * Returns the time within which a second message with the same dedupe id is not stored.
   *
   * @return zero: no deduplication
   */
  public Duration dedupeWindow() {
    return Duration.ofMillis(wire.getDedupeWindowMs());
  }

  /**
   * Returns whether the queue refuses messages that name a throttle key without a limit.
   *
   * @return true if it refuses them
   */
  public boolean strictThrottleKeys() {
    return wire.getStrictThrottleKeys();
  }

  /**
   * Returns whether the builder was given a setting, so that {@link SluiceClient#updateQueue} has
   * something to change.
   *
   * @return true if it was given at least one
   */
  public boolean hasChanges() {
    return !given.isEmpty();
  }

  dev.sluice.proto.v1.QueueConfig toWire() {
    return wire;
  }

  /** Returns the names of the settings that the builder was given. */
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

  /** Builds a {@link QueueConfig}. Not thread-safe. */
  public static final class Builder {
    private final dev.sluice.proto.v1.QueueConfig.Builder wire;
    private final Set<String> given;

    private Builder(dev.sluice.proto.v1.QueueConfig wire, Set<String> given) {
      this.wire = wire.toBuilder();
      this.given = new TreeSet<>(given);
    }

    private static dev.sluice.proto.v1.Durability proto(Durability durability) {
      return switch (durability) {
        case ALWAYS -> dev.sluice.proto.v1.Durability.ALWAYS;
        case INTERVAL -> dev.sluice.proto.v1.Durability.INTERVAL;
        case OS -> dev.sluice.proto.v1.Durability.OS;
        case OTHER ->
            throw new IllegalArgumentException("durability must not be OTHER, which is read only");
      };
    }

    private Builder give(int field) {
      given.add(dev.sluice.proto.v1.QueueConfig.getDescriptor().findFieldByNumber(field).getName());
      return this;
    }

    /**
     * Sets how long a consumer may hold a delivered message.
     *
     * @param timeout whole milliseconds
     * @return this builder
     */
    public Builder leaseTimeout(Duration timeout) {
      wire.setLeaseTimeoutMs(timeout.toMillis());
      return give(dev.sluice.proto.v1.QueueConfig.LEASE_TIMEOUT_MS_FIELD_NUMBER);
    }

    /**
     * Sets when the server confirms a stored message.
     *
     * @param durability the durability
     * @return this builder
     * @throws IllegalArgumentException for {@link Durability#OTHER}
     */
    public Builder durability(Durability durability) {
      wire.setDurability(proto(durability));
      return give(dev.sluice.proto.v1.QueueConfig.DURABILITY_FIELD_NUMBER);
    }

    /**
     * Sets the hook that runs for each new message.
     *
     * @param lua a Lua script; empty for none
     * @return this builder
     */
    public Builder onEnqueue(String lua) {
      wire.setOnEnqueue(lua);
      return give(dev.sluice.proto.v1.QueueConfig.ON_ENQUEUE_FIELD_NUMBER);
    }

    /**
     * Sets the hook that decides about each failed delivery.
     *
     * @param lua a Lua script; empty for none
     * @return this builder
     */
    public Builder onFailure(String lua) {
      wire.setOnFailure(lua);
      return give(dev.sluice.proto.v1.QueueConfig.ON_FAILURE_FIELD_NUMBER);
    }

    /**
     * Sets the number of failures after which a message becomes a dead letter.
     *
     * @param attempts 0: no limit
     * @return this builder
     */
    public Builder maxAttempts(int attempts) {
      wire.setMaxAttempts(attempts);
      return give(dev.sluice.proto.v1.QueueConfig.MAX_ATTEMPTS_FIELD_NUMBER);
    }

    /**
     * Sets the longest delay after the first failure; it doubles with each further one. A queue
     * with an {@code on_failure} hook ignores it.
     *
     * @param delay whole milliseconds; zero: no delay
     * @return this builder
     */
    public Builder retryDelay(Duration delay) {
      wire.setRetryDelayMs(delay.toMillis());
      return give(dev.sluice.proto.v1.QueueConfig.RETRY_DELAY_MS_FIELD_NUMBER);
    }

    /**
     * Sets the longest delay after any failure.
     *
     * @param delay whole milliseconds
     * @return this builder
     */
    public Builder maxRetryDelay(Duration delay) {
      wire.setMaxRetryDelayMs(delay.toMillis());
      return give(dev.sluice.proto.v1.QueueConfig.MAX_RETRY_DELAY_MS_FIELD_NUMBER);
    }

    /**
     * Sets whether messages of one fairness key keep their order even across throttle keys.
     *
     * @param strict true to keep it
     * @return this builder
     */
    public Builder strictOrder(boolean strict) {
      wire.setStrictOrder(strict);
      return give(dev.sluice.proto.v1.QueueConfig.STRICT_ORDER_FIELD_NUMBER);
    }

    /**
     * Sets the most messages of the queue.
     *
     * @param messages 0: no limit
     * @return this builder
     */
    public Builder maxDepth(long messages) {
      wire.setMaxDepth(messages);
      return give(dev.sluice.proto.v1.QueueConfig.MAX_DEPTH_FIELD_NUMBER);
    }

    /**
     * Sets the most messages of each fairness key.
     *
     * @param messages 0: no limit
     * @return this builder
     */
    public Builder maxDepthPerKey(long messages) {
      wire.setMaxDepthPerKey(messages);
      return give(dev.sluice.proto.v1.QueueConfig.MAX_DEPTH_PER_KEY_FIELD_NUMBER);
    }

    /**
     * Sets the most leased messages of each fairness key.
     *
     * @param messages 0: no limit
     * @return this builder
     */
    public Builder maxInFlightPerKey(int messages) {
      wire.setMaxInFlightPerKey(messages);
      return give(dev.sluice.proto.v1.QueueConfig.MAX_IN_FLIGHT_PER_KEY_FIELD_NUMBER);
    }

    /**
     * Sets the time after which undelivered messages expire.
     *
     * @param timeToLive whole milliseconds; zero: never
     * @return this builder
     */
    public Builder timeToLive(Duration timeToLive) {
      wire.setTimeToLiveMs(timeToLive.toMillis());
      return give(dev.sluice.proto.v1.QueueConfig.TIME_TO_LIVE_MS_FIELD_NUMBER);
    }

    /**
     * Sets the time within which a second message with the same dedupe id is not stored.
     *
     * @param window whole milliseconds; zero: no deduplication
     * @return this builder
     */
    public Builder dedupeWindow(Duration window) {
      wire.setDedupeWindowMs(window.toMillis());
      return give(dev.sluice.proto.v1.QueueConfig.DEDUPE_WINDOW_MS_FIELD_NUMBER);
    }

    /**
     * Sets whether the queue refuses messages that name a throttle key without a limit.
     *
     * @param strict true to refuse them
     * @return this builder
     */
    public Builder strictThrottleKeys(boolean strict) {
      wire.setStrictThrottleKeys(strict);
      return give(dev.sluice.proto.v1.QueueConfig.STRICT_THROTTLE_KEYS_FIELD_NUMBER);
    }

    /**
     * Returns the configuration.
     *
     * @return the configuration
     */
    public QueueConfig build() {
      return new QueueConfig(wire.build(), Collections.unmodifiableSet(new TreeSet<>(given)));
    }
  }
}
