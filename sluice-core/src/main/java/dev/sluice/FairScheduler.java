package dev.sluice;

import static dev.sluice.Placement.requireName;
import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.internal.bucket.ConfinedTokenBucket;
import dev.sluice.internal.scheduler.LimitGate;
import dev.sluice.internal.scheduler.SchedulerCore;
import dev.sluice.internal.scheduler.SubQueue;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Decides whose item goes next: fair between keys by weight, within the limits of throttle keys.
 *
 * <p>Pure and deterministic: it does no input or output, reads no clock and starts no thread. What
 * an item costs does not grow with the number of keys. Between two calls nothing happens, and
 * nothing is ever polled: {@link #next} gives an item that can go at the instant it is told, or the
 * instant at which to ask again.
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
 *   <li>Among those who wait for one throttle key, and for no other, service is by weight, too.
 * </ul>
 *
 * @param <T> what is scheduled
 * @since 0.1
 */
public final class FairScheduler<T> {
  /** The largest unit. */
  public static final long MAX_COST = 1L << 40;

  private final SchedulerCore core;
  private final Map<String, FairQueue<T>> queues = new LinkedHashMap<>();
  private Next.@Nullable Offer<T> open;

  private FairScheduler(SchedulerCore core) {
    this.core = core;
  }

  /**
   * A scheduler whose items cost 1.
   *
   * @param <T> what is scheduled
   * @return the scheduler
   */
  public static <T> FairScheduler<T> create() {
    return FairScheduler.<T>builder().build();
  }

  /**
   * Begins a scheduler.
   *
   * @param <T> what is scheduled
   * @return a builder
   */
  public static <T> Builder<T> builder() {
    return new Builder<>();
  }

  /**
   * The queue of this name, made on first use.
   *
   * @param name the name, not empty
   * @return the queue
   */
  public FairQueue<T> queue(String name) {
    return queues.computeIfAbsent(
        requireName("queue", name), absent -> new FairQueue<>(core, absent));
  }

  /**
   * Forgets a queue of which nothing waits.
   *
   * @param name the queue
   * @return false if there is none of that name
   * @throws IllegalStateException if something waits in it, or while an offer is open
   */
  public boolean removeQueue(String name) {
    core.requireNoOffer();
    FairQueue<T> queue = queues.get(name);
    if (queue == null) {
      return false;
    }
    queue.retire();
    queues.remove(name);
    return true;
  }

  /**
   * Sets the time at which all calls but {@link #next} act, until the next call of either.
   *
   * <p>A caller that changes limits, levels or minimum rates after a time without any call must say
   * so first; otherwise the change acts at the time that was given last.
   *
   * @param nowNanos the time; one that lies before an earlier one counts as that
   */
  public void advanceTo(long nowNanos) {
    core.advanceTo(nowNanos);
  }

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
  public void setLimit(String name, Limit limit) {
    core.requireNoOffer();
    core.setLimit(requireName("limit", name), limit);
  }

  /**
   * Sets how many tokens a limit has, as after a restart.
   *
   * @param name the name of a limit
   * @param tokens fractions allowed; more than the burst counts as the burst, rounded down to what
   *     the bucket can hold
   * @throws IllegalArgumentException if there is no such limit, or tokens are negative or NaN
   */
  public void setLevel(String name, double tokens) {
    core.requireNoOffer();
    if (!(tokens >= 0)) {
      throw new IllegalArgumentException("tokens must not be negative: tokens=" + tokens);
    }
    LimitGate gate = core.gates.get(name);
    if (gate == null || gate.bucket() == null) {
      throw new IllegalArgumentException("there is no limit of this name: name=" + name);
    }
    gate.setLevel(tokens);
  }

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
  public void returnTokens(ScheduledItem<T> delivered) {
    core.requireNoOffer();
    delivered.returnTokens(core.now());
  }

  /**
   * Removes a limit: items that wait for it can go.
   *
   * @param name the name of the limit
   * @return false if there was none
   */
  public boolean removeLimit(String name) {
    core.requireNoOffer();
    return core.removeLimit(name);
  }

  /**
   * Returns whether there is a limit of this name.
   *
   * @param name the name of the limit
   * @return true if there is one
   */
  public boolean hasLimit(String name) {
    LimitGate gate = core.gates.get(name);
    return gate != null && gate.bucket() != null;
  }

  /**
   * Returns the item that goes next, if any can go now.
   *
   * @param nowNanos the time; one that lies before an earlier one counts as that
   * @return an item that can go now, or when to ask again
   * @throws IllegalStateException while an offer is open
   */
  public Next<T> next(long nowNanos) {
    core.requireNoOffer();
    long now = core.advanceTo(nowNanos);
    SubQueue sub = core.next(now);
    if (sub != null) {
      Next.Offer<T> offer = new Next.Offer<>(this, sub, now);
      open = offer;
      core.offering(true);
      return offer;
    }
    long waitNanos = core.nanosUntilWakeUp(now);
    return waitNanos == ConfinedTokenBucket.NEVER
        ? new Next.Idle<>()
        : new Next.Wait<>(now + waitNanos);
  }

  /** Returns the first throttle key of {@code placement} without a rate; empty if all have one. */
  public Optional<String> unknownKey(Placement placement) {
    return placement.throttleKeys().keySet().stream().filter(key -> !hasLimit(key)).findFirst();
  }

  /**
   * Returns why an item of {@code placement} can never go under the present rates; empty if it can.
   * A key of rate 0 is paused: an item waits until the key has another rate or none.
   */
  public Optional<String> whyImpossible(Placement placement) {
    for (Map.Entry<String, Long> throttle : placement.throttleKeys().entrySet()) {
      LimitGate gate = core.gates.get(throttle.getKey());
      ConfinedTokenBucket bucket = gate == null ? null : gate.bucket();
      if (bucket != null && bucket.neverHolds(throttle.getValue())) {
        return Optional.of(
            "throttle key never holds that many tokens: throttleKey=%s, tokens=%d, limit=%s"
                .formatted(throttle.getKey(), throttle.getValue(), bucket.limit()));
      }
    }
    return Optional.empty();
  }

  /** Whether nothing is kept of any item or throttle key; for tests. */
  boolean isAtRest() {
    return core.isAtRest();
  }

  /** Whether tokens are held for somebody who needs others too; for tests. */
  boolean isReserving() {
    return core.reservation.isReserving();
  }

  /** {@code offer} is answered; only the open one can be. */
  void answer(Next.Offer<T> offer) {
    if (open != offer) {
      throw new IllegalStateException("this offer was answered before: " + offer);
    }
    open = null;
    core.offering(false);
  }

  /**
   * Returns the state of one limit at the time that was given last.
   *
   * @param name the name of the limit
   * @return empty if there is none
   */
  public Optional<LimitStats> limitStats(String name) {
    LimitGate gate = core.gates.get(name);
    ConfinedTokenBucket bucket = gate == null ? null : gate.bucket();
    if (gate == null || bucket == null) {
      return Optional.empty();
    }
    return Optional.of(
        new LimitStats(
            name,
            bucket.limit(),
            bucket.level(core.now()),
            gate.waiters().size(),
            gate.taken(),
            core.nextGrantIn(gate),
            gate.waiters().impossibleCost()));
  }

  /**
   * Returns the waiters of a limit, about in the order in which they go, without those whose
   * fairness key has reached its maximum in flight.
   *
   * @param limitName the name of the limit
   * @param max the most waiters to return
   * @return a snapshot
   */
  public List<LimitStats.Waiter> waiters(String limitName, int max) {
    LimitGate gate = core.gates.get(limitName);
    return gate == null ? List.of() : gate.waiters().list(max);
  }

  /**
   * Returns the state of every limit at the time that was given last.
   *
   * @return a snapshot, by name
   */
  public List<LimitStats> limitStats() {
    return core.gates.keySet().stream()
        .flatMap(name -> limitStats(name).stream())
        .sorted(Comparator.comparing(LimitStats::name))
        .toList();
  }

  /**
   * Says what a scheduler is to be like.
   *
   * @param <T> what is scheduled
   */
  public static final class Builder<T> {
    private long maxCost = 1;
    private boolean strictOrder;

    private Builder() {}

    /**
     * The most that one item may cost, and what a key of weight 1 may spend in a turn.
     *
     * @param most from 1, which is the default, to {@link #MAX_COST}
     * @return this builder
     */
    public Builder<T> maxCost(long most) {
      requirePositive("unit", most);
      this.maxCost = requireAtMost("unit", most, MAX_COST);
      return this;
    }

    /**
     * Keeps the order of all items of a key and priority, so that one that has to wait for a
     * throttle key holds up those behind it.
     *
     * @return this builder
     */
    public Builder<T> strictOrder() {
      this.strictOrder = true;
      return this;
    }

    /**
     * Makes the scheduler.
     *
     * @return a scheduler without queues
     */
    public FairScheduler<T> build() {
      return new FairScheduler<>(new SchedulerCore(maxCost, strictOrder));
    }
  }
}
