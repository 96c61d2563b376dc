package dev.sluice;

import dev.sluice.internal.scheduler.QueuedItem;

/**
 * An item that a {@link FairScheduler} was given, from its enqueueing to its completion.
 *
 * <p>Not thread-safe: like the scheduler, it belongs to one thread at a time.
 *
 * @param <T> what is scheduled
 * @since 0.1
 */
public sealed interface ScheduledItem<T> permits QueuedItem {

  /**
   * Returns the item that was enqueued.
   *
   * @return the item
   */
  T item();

  /**
   * Returns the fairness key it was enqueued under.
   *
   * @return the key
   */
  String fairnessKey();

  /**
   * Returns whether it is still queued: neither delivered nor removed.
   *
   * @return true while it is queued
   */
  boolean isQueued();

  /**
   * Removes it from its queue, at any position.
   *
   * @return false if it has been delivered or removed before
   * @throws IllegalStateException while an offer is open
   */
  boolean remove();

  /**
   * Marks its work as done, which frees its slot if the maximum in flight of its key is bounded.
   *
   * @return whether a slot came free: false without a limit, and the second time
   * @throws IllegalStateException if it has not been delivered, or while an offer is open
   */
  boolean complete();
}
