package dev.sluice.broker.internal.accounting;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import java.util.function.LongSupplier;

/**
 * Counts the heap of the messages and remembered ids of one queue within the budget of all queues.
 * Keeps the last part of that budget for queues that hold little, so that one queue, however fast
 * its producers are, does not lock out the producers of others. A queue and its dead-letter queue
 * count as one there: messages move from one to the other. Used by the thread of the engine alone.
 *
 * <p>Does not protect against many queues that fill the budget together.
 */
public final class QueueHeapUsage {
  /** One part in this many of the budget is kept for queues that hold little. */
  public static final int RESERVED_SHARE = 8;

  /** A queue holds little up to one part in this many of the budget. */
  public static final int SMALL_SHARE = 64;

  /** The estimated heap of the id of a moved message and of its place in the engine's index. */
  public static final long MOVED_ID_BYTES = 40;

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

  /**
   * Counts the id of a message that has moved. A queue full of messages needs more when all become
   * dead letters, which must not use up the room of other queues.
   */
  public void addMovedId() {
    used += MOVED_ID_BYTES;
    budget.addExempt(MOVED_ID_BYTES);
  }

  public void removeMovedId() {
    used -= MOVED_ID_BYTES;
    budget.removeExempt(MOVED_ID_BYTES);
  }

  public long used() {
    return used;
  }

  /**
   * Returns whether there is room for {@code more} bytes of a message that becomes a dead letter
   * here. It may use a little more than others: otherwise a queue that fills the budget could not
   * get rid of any of its messages, although moving all of them needs no more than they had.
   *
   * @param source returns what the queue holds from which the message comes
   */
  public boolean fitsDeadLetter(long more, LongSupplier source) {
    return fits(more, RecoveryHeapCheck.deadLetterBytes(budget.maxBytes()), source);
  }

  private boolean fits(long more, long extra, LongSupplier counterpart) {
    long counted = more - extra;
    return more <= 0
        || (counted <= budget.maxBytes() - budget.bounded()
            && (counted <= open() - budget.bounded()
                || counted <= small() - used - counterpart.getAsLong()));
  }

  /** Returns the part of the budget that all queues may use. */
  private long open() {
    return budget.maxBytes() - budget.maxBytes() / RESERVED_SHARE;
  }

  /** Returns what a queue may hold that uses the rest. */
  private long small() {
    return budget.maxBytes() / SMALL_SHARE;
  }

  /**
   * Checks that there is room for {@code more} bytes of this queue.
   *
   * @param counterpart returns what the dead-letter queue of this queue holds, or the queue whose
   *     dead letters this one holds; asked only when the heap is nearly full
   * @throws BrokerException if {@code more} bytes would exceed the budget, or the part of it that
   *     queues may use that hold more than a little
   */
  public void require(long more, LongSupplier counterpart) {
    budget.require(more);
    if (!fits(more, 0, counterpart)) {
      throw new BrokerException(
          Code.HEAP_FULL,
          ("%s must take at most %d bytes of the heap beyond queues that hold at most %d each, but"
                  + " take %d: queue=%s holds %d with its dead letters and would hold %d more")
              .formatted(
                  budget.subject(),
                  open(),
                  small(),
                  budget.bounded(),
                  queue,
                  used + counterpart.getAsLong(),
                  more));
    }
  }
}
