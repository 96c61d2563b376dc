package dev.sluice;

import dev.sluice.internal.scheduler.DrrOffer;

/**
 * The answer of a {@link FairScheduler}: an offer, a time to wait for, or nothing to do.
 *
 * @param <T> what is scheduled
 * @since 0.1
 */
public sealed interface Next<T> {

  /**
   * This item can go.
   *
   * <p>It has taken nothing yet. Exactly one of {@link #confirm} and {@link #decline} must be
   * called before the scheduler is asked anything else.
   *
   * @param <T> what is scheduled
   */
  sealed interface Offer<T> extends Next<T> permits DrrOffer {

    /**
     * Returns the item that can go.
     *
     * @return the item
     */
    T item();

    /**
     * Returns the handle of the item, as it was returned when it was enqueued.
     *
     * @return the scheduled item
     */
    ScheduledItem<T> scheduledItem();

    /**
     * Returns the queue it waits in.
     *
     * @return the queue's name
     */
    String queue();

    /**
     * Takes the item: its tokens, its slot, its share of the turn and one credit.
     *
     * @return the item, which is to be completed if its key has a concurrency limit
     * @throws IllegalStateException if this offer was answered before
     */
    ScheduledItem<T> confirm();

    /**
     * Leaves the item where it is; nothing is taken.
     *
     * @throws IllegalStateException if this offer was answered before
     */
    void decline();
  }

  /**
   * Nothing can go before that instant, unless something changes.
   *
   * @param untilNanos when to ask again, on the clock that the caller uses
   * @param <T> what is scheduled
   */
  record Wait<T>(long untilNanos) implements Next<T> {}

  /**
   * Nothing can go until something changes: an item, a rate, credit, a completion.
   *
   * @param <T> what is scheduled
   */
  record Idle<T>() implements Next<T> {}
}
