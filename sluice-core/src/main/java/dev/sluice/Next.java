package dev.sluice;

import dev.sluice.internal.scheduler.SubQueue;

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
  final class Offer<T> implements Next<T> {
    private final FairScheduler<T> scheduler;
    private final SubQueue sub;
    private final ScheduledItem<T> item;
    private final long nowNanos;

    @SuppressWarnings("unchecked") // a scheduler's queues hold nothing but its own items
    Offer(FairScheduler<T> scheduler, SubQueue sub, long nowNanos) {
      this.scheduler = scheduler;
      this.sub = sub;
      this.item = (ScheduledItem<T>) sub.head();
      this.nowNanos = nowNanos;
    }

    /**
     * Returns the item that can go.
     *
     * @return the item
     */
    public T item() {
      return item.item();
    }

    /**
     * Returns the handle of the item, as it was returned when it was enqueued.
     *
     * @return the scheduled item
     */
    public ScheduledItem<T> scheduledItem() {
      return item;
    }

    /**
     * The queue it waits in.
     *
     * @return the queue's name
     */
    public String queue() {
      return sub.flow.queue.name;
    }

    /**
     * The item goes: its tokens, its slot, its share of the turn and one credit are taken.
     *
     * @return the item, which is to be completed if its key has a concurrency limit
     * @throws IllegalStateException if this offer was answered before
     */
    public ScheduledItem<T> confirm() {
      scheduler.answer(this);
      sub.flow.queue.confirm(sub, nowNanos);
      return item;
    }

    /**
     * The item does not go: it stays where it is, and nothing was taken.
     *
     * @throws IllegalStateException if this offer was answered before
     */
    public void decline() {
      scheduler.answer(this);
    }

    @Override
    public String toString() {
      return "Offer[" + item + "]";
    }
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
