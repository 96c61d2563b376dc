package dev.sluice;

import dev.sluice.internal.scheduler.DrrQueue;
import java.util.List;
import java.util.Optional;

/**
 * A queue of a {@link FairScheduler}. It shares throttle keys with the other queues, and nothing
 * else.
 *
 * <p>Not thread-safe: like the scheduler, it belongs to one thread at a time.
 *
 * @param <T> what is scheduled
 * @since 0.1
 */
public sealed interface FairQueue<T> permits DrrQueue {
  /** Credit that never runs out, which a queue has at first. */
  long UNLIMITED_CREDIT = Long.MAX_VALUE;

  /**
   * Returns the name of this queue.
   *
   * @return the name
   */
  String name();

  /**
   * Adds an item to the queue.
   *
   * @param item the item
   * @param placement its fairness key, urgency, cost and throttle keys
   * @return a handle by which it can be removed and completed
   * @throws IllegalArgumentException if it costs more than {@link FairScheduler.Builder#maxCost}
   * @throws IllegalStateException while an offer is open
   */
  ScheduledItem<T> enqueue(T item, Placement placement);

  /**
   * Puts an item that was delivered back to where it was: before all of its key that came after it.
   *
   * <p>It takes its tokens again when it goes again. Only {@link FairScheduler#returnTokens}
   * returns those that it took before.
   *
   * @param delivered what {@link Next.Offer#confirm} returned; completed by this
   * @param placement the one it was enqueued with; a weight is given to its key, as by enqueueing
   * @return the handle that takes the place of {@code delivered}
   * @throws IllegalStateException if it waits, or while an offer is open
   */
  ScheduledItem<T> requeue(ScheduledItem<T> delivered, Placement placement);

  /**
   * Takes an item out as if it had been delivered, as after a restart: it occupies a slot if its
   * key has a concurrency limit, and can be {@link #requeue}. It takes no tokens, no turn and no
   * credit.
   *
   * @param waiting an item that waits in this queue
   * @throws IllegalStateException if it does not wait, or while an offer is open
   */
  void markDelivered(ScheduledItem<T> waiting);

  /**
   * Sets whether keys keep the order of all their items, so that one that has to wait for a
   * throttle key delays the items behind it. Applies to items enqueued from now on; at first it is
   * what the scheduler was built with.
   *
   * @param strict true to keep it
   */
  void setStrictOrder(boolean strict);

  /**
   * Gives a key a weight, at once and until it is given another: a key of weight 2 gets twice the
   * service of a key of weight 1.
   *
   * @param fairnessKey the fairness key
   * @param weight from 1 to {@link Placement#MAX_WEIGHT}
   */
  void setWeight(String fairnessKey, int weight);

  /**
   * Sets how many items the consumers of this queue can take now. Every confirmed item uses one.
   *
   * <p>A queue without credit is passed over, and delays no other queue at a throttle key.
   *
   * @param items at least 0, or {@link #UNLIMITED_CREDIT}
   */
  void setCredit(long items);

  /**
   * Returns how many items the consumers of this queue can take.
   *
   * @return the credit left
   */
  long credit();

  /**
   * Returns whether {@link FairScheduler#next} may offer an item of this queue at the instant of
   * its last call.
   *
   * @return false if no item of this queue can go before time passes or something changes
   */
  boolean hasReady();

  /**
   * Limits how many items of every key may be in flight, except of keys with a limit of their own.
   *
   * <p>Only items confirmed while a limit is in force count.
   *
   * @param max at least 1; {@link Integer#MAX_VALUE} for no limit
   */
  void setMaxInFlightPerKey(int max);

  /**
   * Limits how many items of one key may be in flight.
   *
   * @param fairnessKey the fairness key
   * @param max at least 1; {@link Integer#MAX_VALUE} for no limit
   */
  void setMaxInFlight(String fairnessKey, int max);

  /**
   * Sets a rate that a priority gets even while more urgent ones wait.
   *
   * @param priority from 0 to {@link Placement#MAX_PRIORITY}
   * @param rate items per second, counting those that it gets anyway, and how many of them may go
   *     at once, at least 1; a {@link Limit.Balanced} or {@link Limit.Rate}
   * @throws IllegalArgumentException if an argument is out of range
   */
  void setMinimumRate(int priority, Limit rate);

  /**
   * Removes the minimum rate of a priority.
   *
   * @param priority from 0 to {@link Placement#MAX_PRIORITY}
   */
  void removeMinimumRate(int priority);

  /**
   * Returns the state of one fairness key.
   *
   * @param fairnessKey the fairness key
   * @return empty if none of its items waits
   */
  Optional<FairnessKeyStats> stats(String fairnessKey);

  /**
   * Returns the state of every fairness key with waiting items, by name.
   *
   * @return a snapshot
   */
  List<FairnessKeyStats> stats();

  /**
   * Returns whether all waiting items of a key wait for throttle keys, so that no turn helps it.
   *
   * @param fairnessKey the fairness key
   * @return false if one of its items can go, or none waits
   */
  boolean isThrottled(String fairnessKey);

  /**
   * Returns the total weight of the keys of this queue that wait for a limit and share what it lets
   * through, without keys that have no slot. Takes a pass over them.
   *
   * @param limitName the name of the limit
   * @return 0 if no key waits for it
   */
  long waitingWeight(String limitName);
}
