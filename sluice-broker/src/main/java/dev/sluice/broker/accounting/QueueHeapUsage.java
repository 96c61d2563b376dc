package dev.sluice.broker.accounting;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;

/**
 * Counts the heap of the messages and remembered ids of one queue within the budget of all queues.
 * Keeps the last part of that budget for queues that hold little, so that one queue, however fast
 * its producers are, does not lock out the producers of others. Used by the thread of the engine
 * alone.
 *
 * <p>Does not protect against many queues that fill the budget together.
 */
public final class QueueHeapUsage {
  /** One part in this many of the budget is kept for queues that hold little. */
  public static final int RESERVED_SHARE = 8;

  /** A queue holds little up to one part in this many of the budget. */
  public static final int SMALL_SHARE = 64;

  private final String queue;
  private final HeapBudget budget;
  private long used;

  public QueueHeapUsage(String queue, HeapBudget budget) {
    this.queue = queue;
    this.budget = budget;
  }

  public void add(long bytes) {
    used += bytes;
    budget.add(bytes);
  }

  public void remove(long bytes) {
    used -= bytes;
    budget.remove(bytes);
  }

  public long used() {
    return used;
  }

  /**
   * Checks that there is room for more of this queue.
   *
   * @throws BrokerException if {@code more} bytes would exceed the budget, or the part of it that
   *     queues may use that hold more than a little
   */
  public void require(long more) {
    budget.require(more);
    long open = budget.maxBytes() - budget.maxBytes() / RESERVED_SHARE;
    long small = budget.maxBytes() / SMALL_SHARE;
    if (more > 0 && more > open - budget.used() && more > small - used) {
      throw new BrokerException(
          Code.HEAP_FULL,
          ("%s must take at most %d bytes of the heap beyond queues that hold at most %d each, but"
                  + " take %d: queue=%s holds %d and would hold %d more")
              .formatted(budget.subject(), open, small, budget.used(), queue, used, more));
    }
  }
}
