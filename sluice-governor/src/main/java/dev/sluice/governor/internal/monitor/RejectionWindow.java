package dev.sluice.governor.internal.monitor;

import java.time.Duration;

/**
 * Counts requests in a sliding window, and how many of them were queued or denied. Uses 60 slots,
 * so it forgets up to a sixtieth of the window too early. Not thread-safe.
 */
final class RejectionWindow {
  private static final int SLOTS = 60;

  private final long slotNanos;
  private final long[] asked = new long[SLOTS];
  private final long[] rejected = new long[SLOTS];
  private final long start;
  private long current;

  /**
   * The counts of a window.
   *
   * @param asked all
   * @param rejected those of them that were queued or denied
   */
  record Sum(long asked, long rejected) {}

  RejectionWindow(Duration window, long now) {
    slotNanos = window.toNanos() / SLOTS;
    start = now;
  }

  void asked(boolean wasRejected, long now) {
    advance(now);
    asked[index(current)]++;
    if (wasRejected) {
      rejected[index(current)]++;
    }
  }

  Sum sum(long now) {
    advance(now);
    long all = 0;
    long no = 0;
    for (int slot = 0; slot < SLOTS; slot++) {
      all += asked[slot];
      no += rejected[slot];
    }
    return new Sum(all, no);
  }

  private void advance(long now) {
    long slot = Math.floorDiv(now - start, slotNanos);
    for (long each = Math.max(current + 1, slot - SLOTS + 1); each <= slot; each++) {
      asked[index(each)] = 0;
      rejected[index(each)] = 0;
    }
    current = Math.max(current, slot);
  }

  private static int index(long slot) {
    return Math.floorMod(slot, SLOTS);
  }
}
