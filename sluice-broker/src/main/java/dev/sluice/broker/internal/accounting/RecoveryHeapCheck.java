package dev.sluice.broker.internal.accounting;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;

/**
 * Estimates the heap that stored messages need while they are read, and refuses a heap that is too
 * small: without this check the process would end with nothing but an {@code OutOfMemoryError}.
 *
 * <p>Once the messages read so far do not fit, further ones are counted and not kept; {@link
 * #requireFit} then reports the heap that all of them need.
 */
public final class RecoveryHeapCheck {
  private static final long MIB = 1L << 20;

  /** The least heap that the process needs besides messages. */
  private static final long BASE_BYTES = 24 * MIB;

  /** The part of the remaining heap that can be used before collections take most of the time. */
  private static final int USABLE_PERCENT = 80;

  /** Messages and remembered dedupe ids may take one part in this many of the heap. */
  public static final int MESSAGES_SHARE = 2;

  private final HeapBudget budget;
  private final long heapBytes;

  /** Bytes of kept rows that are not in the budget yet. */
  private long unbudgeted;

  /** Bytes of the ids of messages that have moved. */
  private long movedIds;

  private long kept;
  private long counted;

  public RecoveryHeapCheck(HeapBudget room, long heapBytes) {
    this.budget = room;
    this.heapBytes = heapBytes;
  }

  /**
   * Counts one more row and returns whether to keep its content.
   *
   * @param bytes the heap of the row that is not in the budget yet
   */
  public boolean tryReserve(long bytes) {
    if (isExceeded() || !fits(used() + bytes)) {
      counted++;
      return false;
    }
    counted++;
    kept++;
    unbudgeted += bytes;
    return true;
  }

  /** Counts the id of a message that has moved, which is kept, in the heap of its queue. */
  public void addMovedId(QueueHeapUsage heap) {
    heap.addMovedId();
    movedIds += QueueHeapUsage.MOVED_ID_BYTES;
  }

  /**
   * Always true up to the size that a running broker with this heap reaches: it accepts messages up
   * to its share, and any of them may become a dead letter later.
   */
  private boolean fits(long bytes) {
    long share = heapBytes / MESSAGES_SHARE;
    return bytes - movedIds <= share + deadLetterBytes(share) || heapFor(bytes) <= heapBytes;
  }

  /** Returns what dead letters may take beyond a budget; see {@link QueueHeapUsage}. */
  static long deadLetterBytes(long budget) {
    return budget / QueueHeapUsage.SMALL_SHARE;
  }

  private long used() {
    return budget.used() + unbudgeted;
  }

  /** Counts one more row that is not kept; returns true, which continues a scan. */
  public boolean countOnly() {
    counted++;
    return true;
  }

  /** Returns whether a row was counted and not kept. */
  public boolean isExceeded() {
    return counted > kept;
  }

  /**
   * Checks that everything counted was kept.
   *
   * @throws BrokerException if not; the message names the heap that is needed
   */
  public void requireFit() {
    if (isExceeded()) {
      // Rows that were not kept are assumed to need as much as those that were.
      double each = used() / (double) Math.max(1, kept);
      long bytes = (long) (each * counted);
      throw new BrokerException(
          Code.HEAP_FULL,
          ("the %d messages and remembered ids of the store need a heap of at least %d MiB, but the"
                  + " largest heap of this process is %d MiB; with -Xmx%dm it also accepts new ones")
              .formatted(
                  counted,
                  mebibytes(heapFor(bytes)),
                  heapBytes / MIB,
                  mebibytes(Math.max(heapFor(bytes), (MESSAGES_SHARE + 1) * bytes))));
    }
  }

  private static long heapFor(long bytes) {
    return BASE_BYTES + bytes / USABLE_PERCENT * 100;
  }

  /** Rounds up for {@code -Xmx}, of which some collectors leave a part unused. */
  private static long mebibytes(long bytes) {
    return (bytes + bytes / 12) / MIB + 1;
  }
}
