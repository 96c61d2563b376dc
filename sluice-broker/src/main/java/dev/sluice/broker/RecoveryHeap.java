package dev.sluice.broker;

import dev.sluice.broker.BrokerException.Code;

/**
 * Compares the heap that stored messages need with the one there is, while they are read: without
 * it a heap that is too small ends the process with nothing but an {@code OutOfMemoryError}.
 *
 * <p>Once the messages read so far do not fit, further ones are counted and not kept; {@link
 * #requireFit} then says how much all of them need.
 */
final class RecoveryHeap {
  private static final long MIB = 1L << 20;

  /** What the process needs besides messages, at least. */
  private static final long BASE_BYTES = 24 * MIB;

  /** Of the rest so much can be used, in percent, before collections take most of the time. */
  private static final int USABLE_PERCENT = 80;

  /** New messages may take the heap up to one part in this many. */
  private static final int SHARE = Machinery.MESSAGES_SHARE;

  private final HeapRoom room;
  private final long heapBytes;
  private long apart;
  private long kept;
  private long counted;

  RecoveryHeap(HeapRoom room, long heapBytes) {
    this.room = room;
    this.heapBytes = heapBytes;
  }

  /**
   * Counts one more row; returns whether to keep what it says.
   *
   * @param bytes what it takes that is not in the room yet
   */
  boolean takes(long bytes) {
    if (isExceeded() || !fits(used() + bytes)) {
      counted++;
      return false;
    }
    counted++;
    kept++;
    apart += bytes;
    return true;
  }

  /** What a broker with this heap would accept fits in any case. */
  private boolean fits(long bytes) {
    return bytes <= heapBytes / SHARE || heapFor(bytes) <= heapBytes;
  }

  private long used() {
    return room.used() + apart;
  }

  /** Counts one more row that is not kept; returns true, to go on. */
  boolean counts() {
    counted++;
    return true;
  }

  /** Whether something was counted and not kept. */
  boolean isExceeded() {
    return counted > kept;
  }

  /**
   * Checks that everything counted was kept.
   *
   * @throws BrokerException with the heap that is needed
   */
  void requireFit() {
    if (isExceeded()) {
      // Rows that were not kept are taken to be like those that were.
      double each = used() / (double) Math.max(1, kept);
      long bytes = (long) (each * counted);
      throw new BrokerException(
          Code.HEAP_FULL,
          ("the %d messages and remembered ids of the store need a heap of at least %d MiB, but the"
                  + " largest heap of this process is %d MiB; with -Xmx%dm new ones are taken as well")
              .formatted(
                  counted,
                  mebibytes(heapFor(bytes)),
                  heapBytes / MIB,
                  mebibytes(Math.max(heapFor(bytes), (SHARE + 1) * bytes))));
    }
  }

  private static long heapFor(long bytes) {
    return BASE_BYTES + bytes / USABLE_PERCENT * 100;
  }

  /** For {@code -Xmx}, of which some collectors leave a part unused. */
  private static long mebibytes(long bytes) {
    return (bytes + bytes / 12) / MIB + 1;
  }
}
