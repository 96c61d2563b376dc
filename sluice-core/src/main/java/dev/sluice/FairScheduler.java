package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.internal.scheduler.DrrScheduler;
import java.util.List;
import java.util.Optional;

/**
 * Decides which item goes next: fair between keys by weight, within the limits of throttle keys.
 *
 * <p>Pure and deterministic: it does no input or output, reads no clock and starts no thread. The
 * time that an item takes does not grow with the number of keys. Between two calls nothing happens,
 * and nothing is ever polled: {@link #next} returns an item that can go at the given instant, or
 * the instant at which to ask again.
 *
 * <p>Not thread-safe: it belongs to one thread at a time. {@link FairExecutor} is the thread-safe
 * way to run tasks by it.
 *
 * <p>Instants are readings of one clock in nanoseconds, such as {@link System#nanoTime}. One that
 * lies before an earlier one counts as that.
 *
 * <ul>
 *   <li>Keys of weight v and w that always have something that can go are served v to w, within
 *       {@code 2 · unit + unit} per unit of weight in every window, from their first items on, and
 *       one unit more where items differ in cost.
 *   <li>A key that comes new goes almost at once: its turns alternate with those of busy keys.
 *   <li>In every window of length w, items that name a throttle key take at most {@code burst +
 *       rate · w} of its tokens.
 *   <li>An item waits behind items of its own key that name the same throttle keys, never behind
 *       ones that name others, unless {@link Builder#strictOrder} asks for it.
 *   <li>Keys that wait for one throttle key, and for no other, are served by weight, too.
 * </ul>
 *
 * @param <T> what is scheduled
 * @since 0.1
 */
public sealed interface FairScheduler<T> permits DrrScheduler {
  /** The largest cost of one item. */
  long MAX_COST = 1L << 40;

  /**
   * Returns a scheduler whose items cost 1.
   *
   * @param <T> what is scheduled
   * @return the scheduler
   */
  static <T> FairScheduler<T> create() {
    return FairScheduler.<T>builder().build();
  }

  /**
   * Returns a builder with default settings.
   *
   * @param <T> what is scheduled
   * @return a new builder
   */
  static <T> Builder<T> builder() {
    return new Builder<>();
  }

  /**
   * Returns the queue of this name, created on first use.
   *
   * @param name the name, not empty
   * @return the queue
   */
  FairQueue<T> queue(String name);

  /**
   * Removes a queue in which no item waits.
   *
   * @param name the queue
   * @return false if there is none of that name
   * @throws IllegalStateException if something waits in it, or while an offer is open
   */
  boolean removeQueue(String name);

  /**
   * Returns the item that goes next, if any can go now.
   *
   * @param nowNanos the time; one that lies before an earlier one counts as that
   * @return an item that can go now, or when to ask again
   * @throws IllegalStateException while an offer is open
   */
  Next<T> next(long nowNanos);

  /**
   * Sets the time at which all calls but {@link #next} act, until the next call of either.
   *
   * <p>A caller that changes limits, levels or minimum rates after a time without any call must say
   * so first; otherwise the change acts at the time that was given last.
   *
   * @param nowNanos the time; one that lies before an earlier one counts as that
   */
  void advanceTo(long nowNanos);

  /**
   * Sets a limit, in force at once.
   *
   * <p>A throttle key without a limit lets everything pass. At first the bucket is full; later its
   * tokens are kept, clamped to the new burst.
   *
   * @param name the name of the limit, which items name as a throttle key; not empty
   * @param limit a {@link Limit.Balanced}, {@link Limit.Rate} or {@link Limit.DenyAll}
   * @throws IllegalArgumentException if the limit is {@link Limit.Strict} or {@link Limit.Manual},
   *     or no exact scale fits it; nothing changes
   */
  void setLimit(String name, Limit limit);

  /**
   * Sets how many tokens a limit has, as after a restart.
   *
   * @param name the name of a limit
   * @param tokens fractions allowed; more than the burst counts as the burst, rounded down to what
   *     the bucket can hold
   * @throws IllegalArgumentException if there is no such limit, or tokens are negative or NaN
   */
  void setLevel(String name, double tokens);

  /**
   * Removes a limit: items that wait for it can go.
   *
   * @param name the name of the limit
   * @return false if there was none
   */
  boolean removeLimit(String name);

  /**
   * Returns whether there is a limit of this name.
   *
   * @param name the name of the limit
   * @return true if there is one
   */
  boolean hasLimit(String name);

  /**
   * Returns the tokens of an item that was delivered but never used.
   *
   * <p>A token that a refill has made up for since then is not returned a second time: afterwards
   * each throttle key holds at most what it would hold had the item never taken anything. So in
   * every window of length {@code w} the items that were used take at most {@code burst + rate · w}
   * tokens. A key whose rate was removed or whose level was set meanwhile gets nothing.
   *
   * @param delivered what {@link Next.Offer#confirm} returned; a second call for it does nothing
   * @throws IllegalStateException while an offer is open
   */
  void returnTokens(ScheduledItem<T> delivered);

  /**
   * Returns the state of one limit at the time that was given last.
   *
   * @param name the name of the limit
   * @return empty if there is none
   */
  Optional<LimitStats> limitStats(String name);

  /**
   * Returns the state of every limit at the time that was given last.
   *
   * @return a snapshot, by name
   */
  List<LimitStats> limitStats();

  /**
   * Returns the waiters of a limit, about in the order in which they go, without those whose
   * fairness key has reached its maximum in flight.
   *
   * @param limitName the name of the limit
   * @param max the most waiters to return
   * @return a snapshot
   */
  List<LimitStats.Waiter> waiters(String limitName, int max);

  /**
   * Settings of a new scheduler. Not thread-safe.
   *
   * @param <T> what is scheduled
   */
  final class Builder<T> {
    private long maxCost = 1;
    private boolean strictOrder;

    private Builder() {}

    /**
     * Sets the most that one item may cost, which is what a key of weight 1 may spend in a turn.
     *
     * @param most from 1, which is the default, to {@link #MAX_COST}
     * @return this builder
     */
    public Builder<T> maxCost(long most) {
      requirePositive("maxCost", most);
      this.maxCost = requireAtMost("maxCost", most, MAX_COST);
      return this;
    }

    /**
     * Keeps the order of all items of a key and priority, so that one that has to wait for a
     * throttle key delays the items behind it.
     *
     * @return this builder
     */
    public Builder<T> strictOrder() {
      this.strictOrder = true;
      return this;
    }

    /**
     * Builds the scheduler.
     *
     * @return a scheduler without queues
     */
    public FairScheduler<T> build() {
      return new DrrScheduler<>(maxCost, strictOrder);
    }
  }
}
