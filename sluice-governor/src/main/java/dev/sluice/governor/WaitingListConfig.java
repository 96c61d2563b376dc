package dev.sluice.governor;

import static dev.sluice.internal.util.Preconditions.requireBetween;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the waiting lists and of the reservations, for all models. Immutable.
 *
 * @since 0.1
 */
public final class WaitingListConfig {
  private static final int MAX_WAITING = 1_000_000;
  private static final int MAX_BATCH = 10_000;
  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration DAY = Duration.ofDays(1);

  private final Values values;

  private record Values(
      int maxWaiting,
      Duration ticketIdleTimeout,
      Duration reservationTimeout,
      int drainBatch,
      Duration refillInterval) {
    Values {
      requireBetween("max_waiting", maxWaiting, 0, MAX_WAITING);
      requireBetween("ticket_idle_timeout_ms", ticketIdleTimeout, MILLISECOND, DAY);
      requireBetween("reservation_timeout_ms", reservationTimeout, MILLISECOND, DAY);
      requireBetween("drain_batch", drainBatch, 1, MAX_BATCH);
      requireBetween("refill_interval_ms", refillInterval, SECOND, DAY);
    }
  }

  private WaitingListConfig(Values values) {
    this.values = values;
  }

  /**
   * Returns a builder with the defaults: 10,000 waiting requests, an idle timeout of 30 seconds, a
   * reservation timeout of 10 minutes, batches of 10, an interval of a minute.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns the most waiting requests of one model, over all classes.
   *
   * @return from 0 to 1,000,000
   */
  public int maxWaiting() {
    return values.maxWaiting();
  }

  /**
   * Returns the time after which a ticket that is neither awaited nor polled leaves the waiting
   * list, and a grant that is not claimed is returned.
   *
   * @return from a millisecond to a day
   */
  public Duration ticketIdleTimeout() {
    return values.ticketIdleTimeout();
  }

  /**
   * Returns the time after which a grant that is neither settled nor extended ends.
   *
   * @return from a millisecond to a day
   */
  public Duration reservationTimeout() {
    return values.reservationTimeout();
  }

  /**
   * Returns the number of waiting requests that are granted before other calls are served; granting
   * continues while tokens last.
   *
   * @return from 1 to 10,000
   */
  public int drainBatch() {
    return values.drainBatch();
  }

  /**
   * Returns the time within which the waiting list is served at least once, and refills are logged
   * at most once.
   *
   * @return from a second to a day
   */
  public Duration refillInterval() {
    return values.refillInterval();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof WaitingListConfig that && values.equals(that.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return "WaitingListConfig" + values;
  }

  /** Builds a {@link WaitingListConfig}. Not thread-safe. */
  public static final class Builder {
    private int maxWaiting = 10_000;
    private Duration ticketIdleTimeout = Duration.ofSeconds(30);
    private Duration reservationTimeout = Duration.ofMinutes(10);
    private int drainBatch = 10;
    private Duration refillInterval = Duration.ofMinutes(1);

    private Builder() {}

    /**
     * Sets {@link WaitingListConfig#maxWaiting}.
     *
     * @param most from 0 to 1,000,000
     * @return this
     */
    public Builder maxWaiting(int most) {
      maxWaiting = most;
      return this;
    }

    /**
     * Sets {@link WaitingListConfig#ticketIdleTimeout}.
     *
     * @param timeout from a millisecond to a day
     * @return this
     */
    public Builder ticketIdleTimeout(Duration timeout) {
      ticketIdleTimeout = timeout;
      return this;
    }

    /**
     * Sets {@link WaitingListConfig#reservationTimeout}.
     *
     * @param timeout from a millisecond to a day
     * @return this
     */
    public Builder reservationTimeout(Duration timeout) {
      reservationTimeout = timeout;
      return this;
    }

    /**
     * Sets {@link WaitingListConfig#drainBatch}.
     *
     * @param requests from 1 to 10,000
     * @return this
     */
    public Builder drainBatch(int requests) {
      drainBatch = requests;
      return this;
    }

    /**
     * Sets {@link WaitingListConfig#refillInterval}.
     *
     * @param interval from a second to a day
     * @return this
     */
    public Builder refillInterval(Duration interval) {
      refillInterval = interval;
      return this;
    }

    /**
     * Builds the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException if a value is out of range
     */
    public WaitingListConfig build() {
      return new WaitingListConfig(
          new Values(
              maxWaiting, ticketIdleTimeout, reservationTimeout, drainBatch, refillInterval));
    }
  }
}
