package dev.sluice.broker;

import static dev.sluice.broker.QueueNames.requireBetween;
import static dev.sluice.broker.QueueNames.requireDuration;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a queue behaves; all of it can be changed while the queue is in use.
 *
 * @param leaseTimeout how long a consumer may take to settle a message, from 1 s to 12 h
 * @param durability when operations are answered
 * @param onEnqueue a Lua script that defines {@code on_enqueue}; null for none
 * @param onFailure a Lua script that defines {@code on_failure}; null for none
 * @param maxAttempts after so many failures a message becomes a dead letter; 0 for no limit
 * @param retryDelay the longest delay after the first failure; doubles with each further one up to
 *     {@code maxRetryDelay}. A delay is between half of that and all of it, so none is shorter than
 *     the one before while it doubles. Zero for no delay; {@code on_failure} decides instead if
 *     there is one
 * @param maxRetryDelay the longest delay after any failure, at least {@code retryDelay}
 * @param strictOrder whether a fairness key keeps the order of all its messages, so that one that
 *     has to wait for a throttle key holds up those behind it; holds for messages enqueued from
 *     then on
 * @param maxDepth the most messages it holds, in flight included; 0 for no limit
 * @param maxDepthPerKey the most messages of one fairness key; 0 for no limit
 * @param maxInFlightPerKey the most messages of one fairness key that are delivered and not
 *     settled; 0 for no limit
 * @param timeToLive after that a message that waits becomes a dead letter; zero for never
 * @param dedupeWindow how long the id of a message is remembered, so that a second one with the
 *     same id is not enqueued; zero for not at all
 * @param strictThrottleKeys whether messages are refused whose producer names a throttle key
 *     without a rate; does not apply to keys that a script sets nor to messages in the queue
 * @since 0.1
 */
public record QueueConfig(
    Duration leaseTimeout,
    Durability durability,
    @Nullable String onEnqueue,
    @Nullable String onFailure,
    int maxAttempts,
    Duration retryDelay,
    Duration maxRetryDelay,
    boolean strictOrder,
    long maxDepth,
    long maxDepthPerKey,
    int maxInFlightPerKey,
    Duration timeToLive,
    Duration dedupeWindow,
    boolean strictThrottleKeys) {

  /** The lease of a queue whose configuration does not set one. */
  public static final Duration DEFAULT_LEASE_TIMEOUT = Duration.ofSeconds(30);

  /** The attempts of a queue that does not set them and has no {@code on_failure}. */
  public static final int DEFAULT_MAX_ATTEMPTS = 10;

  /** The delay after the first failure, of a queue that does not set it. */
  public static final Duration DEFAULT_RETRY_DELAY = Duration.ofSeconds(1);

  /** The longest delay after any failure, of a queue that does not set it. */
  public static final Duration DEFAULT_MAX_RETRY_DELAY = Duration.ofMinutes(5);

  /** The longest lease. */
  public static final Duration MAX_LEASE_TIMEOUT = Duration.ofHours(12);

  /** The shortest lease. */
  public static final Duration MIN_LEASE_TIMEOUT = Duration.ofSeconds(1);

  /** The longest time to live and the longest window of ids. */
  public static final Duration MAX_DURATION = Duration.ofDays(366);

  /** The longest delay before a message that failed is tried again. */
  public static final Duration MAX_RETRY_DELAY = Duration.ofDays(7);

  /** The largest script, in characters. */
  public static final int MAX_HOOK_BYTES = 64 * 1024;

  private static final QueueConfig DEFAULTS = builder().build();

  /** Checks every part. */
  public QueueConfig {
    requireDuration("leaseTimeout", leaseTimeout, MIN_LEASE_TIMEOUT, MAX_LEASE_TIMEOUT);
    Objects.requireNonNull(durability, "durability");
    requireScript("onEnqueue", onEnqueue);
    requireScript("onFailure", onFailure);
    requireBetween("maxAttempts", maxAttempts, 0, Integer.MAX_VALUE);
    requireDuration("maxRetryDelay", maxRetryDelay, Duration.ZERO, MAX_RETRY_DELAY);
    requireDuration("retryDelay", retryDelay, Duration.ZERO, MAX_RETRY_DELAY);
    requireInOrder(retryDelay, maxRetryDelay);
    requireBetween("maxDepth", maxDepth, 0, Long.MAX_VALUE);
    requireBetween("maxDepthPerKey", maxDepthPerKey, 0, Long.MAX_VALUE);
    requireBetween("maxInFlightPerKey", maxInFlightPerKey, 0, Integer.MAX_VALUE);
    requireDuration("timeToLive", timeToLive, Duration.ZERO, MAX_DURATION);
    requireDuration("dedupeWindow", dedupeWindow, Duration.ZERO, MAX_DURATION);
  }

  private static void requireInOrder(Duration first, Duration longest) {
    if (first.compareTo(longest) > 0) {
      throw new IllegalArgumentException(
          "retryDelay must be at most maxRetryDelay: retryDelay=%s, maxRetryDelay=%s"
              .formatted(first, longest));
    }
  }

  private static void requireScript(String name, @Nullable String source) {
    if (source != null) {
      requireBetween("length of " + name, source.length(), 1, MAX_HOOK_BYTES);
    }
  }

  /**
   * Leases of 30 s, answers once on the disk, 10 attempts with delays from 1 s to 5 min, no
   * scripts, no limits.
   *
   * @return the configuration that a queue has unless told otherwise
   */
  public static QueueConfig defaults() {
    return DEFAULTS;
  }

  /**
   * Begins a configuration at {@link #defaults}.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Begins a configuration at this one.
   *
   * @return a builder
   */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.leaseTimeout = leaseTimeout;
    builder.durability = durability;
    builder.onEnqueue = onEnqueue;
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

  /** Says how a queue is to behave; each part is explained at {@link QueueConfig}. */
  public static final class Builder {
    private Duration leaseTimeout = DEFAULT_LEASE_TIMEOUT;
    private Durability durability = Durability.ALWAYS;
    private @Nullable String onEnqueue;
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
     * How long a consumer may take.
     *
     * @param timeout from 1 s to 12 h
     * @return this builder
     */
    public Builder leaseTimeout(Duration timeout) {
      this.leaseTimeout = timeout;
      return this;
    }

    /**
     * When operations are answered.
     *
     * @param when the moment
     * @return this builder
     */
    public Builder durability(Durability when) {
      this.durability = when;
      return this;
    }

    /**
     * The script that says where a message goes.
     *
     * @param source Lua; null for none
     * @return this builder
     */
    public Builder onEnqueue(@Nullable String source) {
      this.onEnqueue = source;
      return this;
    }

    /**
     * The script that says what becomes of a message that failed.
     *
     * @param source Lua; null for none
     * @return this builder
     */
    public Builder onFailure(@Nullable String source) {
      this.onFailure = source;
      return this;
    }

    /**
     * After how many failures a message becomes a dead letter.
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
     * The longest delay after the first failure.
     *
     * @param delay up to the longest delay of all; zero for none; null for the default
     * @return this builder
     */
    public Builder retryDelay(@Nullable Duration delay) {
      this.retryDelay = delay;
      return this;
    }

    /**
     * The longest delay after any failure.
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
     * Whether a fairness key keeps the order of all its messages, whatever they wait for.
     *
     * @param strict true to accept that one message holds up those behind it
     * @return this builder
     */
    public Builder strictOrder(boolean strict) {
      this.strictOrder = strict;
      return this;
    }

    /**
     * The most messages it holds.
     *
     * @param messages at least 1; 0 for no limit
     * @return this builder
     */
    public Builder maxDepth(long messages) {
      this.maxDepth = messages;
      return this;
    }

    /**
     * The most messages it holds of one fairness key.
     *
     * @param messages at least 1; 0 for no limit
     * @return this builder
     */
    public Builder maxDepthPerKey(long messages) {
      this.maxDepthPerKey = messages;
      return this;
    }

    /**
     * The most messages of one fairness key in flight.
     *
     * @param messages at least 1; 0 for no limit
     * @return this builder
     */
    public Builder maxInFlightPerKey(int messages) {
      this.maxInFlightPerKey = messages;
      return this;
    }

    /**
     * How long a message may wait.
     *
     * @param time up to 366 days; zero for as long as it takes
     * @return this builder
     */
    public Builder timeToLive(Duration time) {
      this.timeToLive = time;
      return this;
    }

    /**
     * How long ids of messages are remembered.
     *
     * @param window up to 366 days; zero for not at all
     * @return this builder
     */
    public Builder dedupeWindow(Duration window) {
      this.dedupeWindow = window;
      return this;
    }

    /**
     * Whether producers may name only throttle keys that have a rate.
     *
     * @param strict true to refuse others
     * @return this builder
     */
    public Builder strictThrottleKeys(boolean strict) {
      this.strictThrottleKeys = strict;
      return this;
    }

    /**
     * Makes the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException if a part is out of range
     */
    public QueueConfig build() {
      int defaultAttempts = onFailure == null ? DEFAULT_MAX_ATTEMPTS : 0;
      Duration first = retryDelay == null ? DEFAULT_RETRY_DELAY : retryDelay;
      Duration defaultLongest =
          first.compareTo(DEFAULT_MAX_RETRY_DELAY) > 0 ? first : DEFAULT_MAX_RETRY_DELAY;
      return new QueueConfig(
          leaseTimeout,
          durability,
          onEnqueue,
          onFailure,
          maxAttempts == null ? defaultAttempts : maxAttempts,
          first,
          maxRetryDelay == null ? defaultLongest : maxRetryDelay,
          strictOrder,
          maxDepth,
          maxDepthPerKey,
          maxInFlightPerKey,
          timeToLive,
          dedupeWindow,
          strictThrottleKeys);
    }
  }
}
