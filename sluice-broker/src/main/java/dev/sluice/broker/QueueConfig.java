package dev.sluice.broker;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a queue. All of it can be changed while the queue is in use.
 *
 * <p>Immutable.
 *
 * @since 0.1
 */
public final class QueueConfig {
  /** The default of {@link #leaseTimeout}. */
  public static final Duration DEFAULT_LEASE_TIMEOUT = Duration.ofSeconds(30);

  /** The default of {@link #maxAttempts} without {@code on_failure}. */
  public static final int DEFAULT_MAX_ATTEMPTS = 10;

  /** The default of {@link #retryDelay}. */
  public static final Duration DEFAULT_RETRY_DELAY = Duration.ofSeconds(1);

  /** The default of {@link #maxRetryDelay}. */
  public static final Duration DEFAULT_MAX_RETRY_DELAY = Duration.ofMinutes(5);

  /** The longest lease timeout. */
  public static final Duration MAX_LEASE_TIMEOUT = Duration.ofHours(12);

  /** The shortest lease timeout. */
  public static final Duration MIN_LEASE_TIMEOUT = Duration.ofSeconds(1);

  /** The longest time to live, dedupe window and delay of a message. */
  public static final Duration MAX_DURATION = Duration.ofDays(366);

  /** The longest delay after a failure. */
  public static final Duration MAX_RETRY_DELAY = Duration.ofDays(7);

  /** The largest hook, in bytes of UTF-8. */
  public static final int MAX_HOOK_BYTES = 64 * 1024;

  private static final QueueConfig DEFAULTS = builder().build();

  private final Duration leaseTimeout;
  private final Durability durability;
  private final @Nullable String onEnqueue;
  private final List<String> hookThrottleKeys;
  private final @Nullable String onFailure;
  private final int maxAttempts;
  private final Duration retryDelay;
  private final Duration maxRetryDelay;
  private final boolean strictOrder;
  private final long maxDepth;
  private final long maxDepthPerKey;
  private final int maxInFlightPerKey;
  private final Duration timeToLive;
  private final Duration dedupeWindow;
  private final boolean strictThrottleKeys;

  private QueueConfig(Builder builder) {
    this.leaseTimeout = builder.leaseTimeout;
    this.durability = builder.durability;
    this.onEnqueue = builder.onEnqueue;
    this.hookThrottleKeys = builder.hookThrottleKeys;
    this.onFailure = builder.onFailure;
    this.maxAttempts =
        Objects.requireNonNullElse(
            builder.maxAttempts, onFailure == null ? DEFAULT_MAX_ATTEMPTS : 0);
    this.retryDelay = Objects.requireNonNullElse(builder.retryDelay, DEFAULT_RETRY_DELAY);
    this.maxRetryDelay =
        Objects.requireNonNullElse(
            builder.maxRetryDelay, longer(retryDelay, DEFAULT_MAX_RETRY_DELAY));
    this.strictOrder = builder.strictOrder;
    this.maxDepth = builder.maxDepth;
    this.maxDepthPerKey = builder.maxDepthPerKey;
    this.maxInFlightPerKey = builder.maxInFlightPerKey;
    this.timeToLive = builder.timeToLive;
    this.dedupeWindow = builder.dedupeWindow;
    this.strictThrottleKeys = builder.strictThrottleKeys;
    QueueConfigChecks.requireValid(this);
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) > 0 ? one : other;
  }

  /**
   * Returns the default configuration: leases of 30 s, {@link Durability#ALWAYS}, 10 attempts with
   * delays from 1 s to 5 min, no hooks, no limits.
   *
   * @return the configuration
   */
  public static QueueConfig defaults() {
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
    Builder builder = new Builder();
    builder.leaseTimeout = leaseTimeout;
    builder.durability = durability;
    builder.onEnqueue = onEnqueue;
    builder.hookThrottleKeys = hookThrottleKeys;
    builder.onFailure = onFailure;
    builder.maxAttempts = maxAttempts;
    builder.retryDelay = retryDelay;
    builder.maxRetryDelay = maxRetryDelay;
    builder.strictOrder = strictOrder;
    builder.maxDepth = maxDepth;
    builder.maxDepthPerKey = maxDepthPerKey;
    builder.maxInFlightPerKey = maxInFlightPerKey;
    builder.timeToLive = timeToLive;
    builder.dedupeWindow = dedupeWindow;
    builder.strictThrottleKeys = strictThrottleKeys;
    return builder;
  }

  /** {@return how long a consumer may take to settle a message; from 1 s to 12 h} */
  public Duration leaseTimeout() {
    return leaseTimeout;
  }

  /** {@return when operations are answered; the durability} */
  public Durability durability() {
    return durability;
  }

  /**
   * {@return the hook that assigns fairness key, weight and throttle keys to a message; a Lua
   * script that defines {@code on_enqueue}; null for none}
   */
  public @Nullable String onEnqueue() {
    return onEnqueue;
  }

  /**
   * Returns which throttle keys {@code on_enqueue} may name. A result with another key counts as a
   * failure of the hook.
   *
   * @return {@linkplain NamePatterns patterns} of names; empty for none; by default those of all
   */
  public List<String> hookThrottleKeys() {
    return hookThrottleKeys;
  }

  /**
   * {@return the hook that decides about a message that failed; a Lua script that defines {@code
   * on_failure}; null for none}
   */
  public @Nullable String onFailure() {
    return onFailure;
  }

  /**
   * {@return the number of failures that make a message a dead letter; at least 1; 0 for no limit}
   */
  public int maxAttempts() {
    return maxAttempts;
  }

  /**
   * Returns the longest delay after the first failure.
   *
   * <p>The bound doubles with each further failure, up to {@link #maxRetryDelay}. A delay is
   * between half of its bound and all of it, so delays never get shorter while the bound grows. A
   * queue with {@code on_failure} uses the delay that the hook returns instead.
   *
   * @return zero for no delay
   */
  public Duration retryDelay() {
    return retryDelay;
  }

  /** {@return the longest delay after any failure; at least {@link #retryDelay}} */
  public Duration maxRetryDelay() {
    return maxRetryDelay;
  }

  /**
   * Returns whether a fairness key keeps the order of all its messages.
   *
   * <p>A message that waits for a throttle key then delays those behind it. A change applies to
   * messages that are enqueued after it.
   *
   * @return true if it does
   */
  public boolean strictOrder() {
    return strictOrder;
  }

  /** {@return the most messages of the queue, in flight included; at least 1; 0 for no limit} */
  public long maxDepth() {
    return maxDepth;
  }

  /**
   * {@return the most messages of one fairness key, in flight included; at least 1; 0 for no limit}
   */
  public long maxDepthPerKey() {
    return maxDepthPerKey;
  }

  /**
   * {@return the most messages of one fairness key that are delivered and not settled; at least 1;
   * 0 for no limit}
   */
  public int maxInFlightPerKey() {
    return maxInFlightPerKey;
  }

  /** {@return the time after which a waiting message becomes a dead letter; zero for never} */
  public Duration timeToLive() {
    return timeToLive;
  }

  /**
   * {@return how long dedupe ids are remembered: a second message with the same id is not stored;
   * zero for not at all}
   */
  public Duration dedupeWindow() {
    return dedupeWindow;
  }

  /**
   * Returns whether messages are refused whose producer names a throttle key without a limit.
   *
   * <p>Keys that a hook assigns and messages in the queue are not affected.
   *
   * @return true if they are
   */
  public boolean strictThrottleKeys() {
    return strictThrottleKeys;
  }

  private List<@Nullable Object> values() {
    return Arrays.asList(
        leaseTimeout,
        durability,
        onEnqueue,
        hookThrottleKeys,
        onFailure,
        maxAttempts,
        retryDelay,
        maxRetryDelay,
        strictOrder,
        maxDepth,
        maxDepthPerKey,
        maxInFlightPerKey,
        timeToLive,
        dedupeWindow,
        strictThrottleKeys);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof QueueConfig that && values().equals(that.values());
  }

  @Override
  public int hashCode() {
    return values().hashCode();
  }

  @Override
  public String toString() {
    return "QueueConfig" + values();
  }

  /** Builds a {@link QueueConfig}, whose accessors explain the values. Not thread-safe. */
  public static final class Builder {
    private Duration leaseTimeout = DEFAULT_LEASE_TIMEOUT;
    private Durability durability = Durability.ALWAYS;
    private @Nullable String onEnqueue;
    private List<String> hookThrottleKeys = List.of(NamePatterns.ALL);
    private @Nullable String onFailure;
    private @Nullable Integer maxAttempts;
    private @Nullable Duration retryDelay;
    private @Nullable Duration maxRetryDelay;
    private boolean strictOrder;
    private long maxDepth;
    private long maxDepthPerKey;
    private int maxInFlightPerKey;
    private Duration timeToLive = Duration.ZERO;
    private Duration dedupeWindow = Duration.ZERO;
    private boolean strictThrottleKeys;

    private Builder() {}

    /**
     * Sets how long a consumer may take to settle a message.
     *
     * @param timeout from 1 s to 12 h
     * @return this builder
     */
    public Builder leaseTimeout(Duration timeout) {
      this.leaseTimeout = Objects.requireNonNull(timeout, "leaseTimeout");
      return this;
    }

    /**
     * Sets when operations are answered.
     *
     * @param when the durability
     * @return this builder
     */
    public Builder durability(Durability when) {
      this.durability = Objects.requireNonNull(when, "durability");
      return this;
    }

    /**
     * Sets the hook that assigns fairness key, weight and throttle keys.
     *
     * @param source Lua; null for none
     * @return this builder
     */
    public Builder onEnqueue(@Nullable String source) {
      this.onEnqueue = source;
      return this;
    }

    /**
     * Sets which throttle keys {@code on_enqueue} may name.
     *
     * @param patterns {@linkplain NamePatterns patterns} of names; empty for none
     * @return this builder
     */
    public Builder hookThrottleKeys(List<String> patterns) {
      this.hookThrottleKeys = List.copyOf(patterns);
      return this;
    }

    /**
     * Sets the hook that decides about a message that failed.
     *
     * @param source Lua; null for none
     * @return this builder
     */
    public Builder onFailure(@Nullable String source) {
      this.onFailure = source;
      return this;
    }

    /**
     * Sets the number of failures that make a message a dead letter.
     *
     * @param attempts at least 1; 0 for no limit; null for the default: {@link
     *     #DEFAULT_MAX_ATTEMPTS}, or no limit with {@code on_failure}
     * @return this builder
     */
    public Builder maxAttempts(@Nullable Integer attempts) {
      this.maxAttempts = attempts;
      return this;
    }

    /**
     * Sets the longest delay after the first failure.
     *
     * @param delay up to {@link #maxRetryDelay}; zero for none; null for the default
     * @return this builder
     */
    public Builder retryDelay(@Nullable Duration delay) {
      this.retryDelay = delay;
      return this;
    }

    /**
     * Sets the longest delay after any failure.
     *
     * @param delay up to {@link #MAX_RETRY_DELAY}; null for the longer of the default and the delay
     *     after the first failure
     * @return this builder
     */
    public Builder maxRetryDelay(@Nullable Duration delay) {
      this.maxRetryDelay = delay;
      return this;
    }

    /**
     * Sets whether a fairness key keeps the order of all its messages.
     *
     * @param strict true to let a throttled message delay those behind it
     * @return this builder
     */
    public Builder strictOrder(boolean strict) {
      this.strictOrder = strict;
      return this;
    }

    /**
     * Sets the most messages of the queue.
     *
     * @param messages at least 1; 0 for no limit
     * @return this builder
     */
    public Builder maxDepth(long messages) {
      this.maxDepth = messages;
      return this;
    }

    /**
     * Sets the most messages of one fairness key.
     *
     * @param messages at least 1; 0 for no limit
     * @return this builder
     */
    public Builder maxDepthPerKey(long messages) {
      this.maxDepthPerKey = messages;
      return this;
    }

    /**
     * Sets the most messages of one fairness key in flight.
     *
     * @param messages at least 1; 0 for no limit
     * @return this builder
     */
    public Builder maxInFlightPerKey(int messages) {
      this.maxInFlightPerKey = messages;
      return this;
    }

    /**
     * Sets the time after which a waiting message becomes a dead letter.
     *
     * @param time up to 366 days; zero for never
     * @return this builder
     */
    public Builder timeToLive(Duration time) {
      this.timeToLive = Objects.requireNonNull(time, "timeToLive");
      return this;
    }

    /**
     * Sets how long dedupe ids are remembered.
     *
     * @param window up to 366 days; zero for not at all
     * @return this builder
     */
    public Builder dedupeWindow(Duration window) {
      this.dedupeWindow = Objects.requireNonNull(window, "dedupeWindow");
      return this;
    }

    /**
     * Sets whether producers may name only throttle keys that have a limit.
     *
     * @param strict true to refuse messages that name others
     * @return this builder
     */
    public Builder strictThrottleKeys(boolean strict) {
      this.strictThrottleKeys = strict;
      return this;
    }

    /**
     * Builds the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException if a value is out of range
     */
    public QueueConfig build() {
      return new QueueConfig(this);
    }
  }
}
