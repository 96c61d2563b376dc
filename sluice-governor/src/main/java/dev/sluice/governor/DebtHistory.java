package dev.sluice.governor;

import java.util.Arrays;

/**
 * The least that was owed since some event. Entries that a later and smaller one makes useless are
 * dropped: what is left rises from the oldest to the newest. When there are too many, neighbours
 * become one with the smaller figure of the two, which errs on the side of those who gave tokens.
 */
final class DebtHistory {
  static final int MAX_ENTRIES = 4_096;

  private long[] events = new long[64];
  private long[] owed = new long[64];
  private int size;
  private long next;

  /** Something is owed at this moment; returns the number of the event that follows. */
  long record(long owedNow) {
    while (size > 0 && owed[size - 1] >= owedNow) {
      size--;
    }
    if (size == MAX_ENTRIES) {
      halve();
    } else if (size == events.length) {
      events = Arrays.copyOf(events, 2 * size);
      owed = Arrays.copyOf(owed, 2 * size);
    }
    events[size] = next;
    owed[size] = owedNow;
    size++;
    return ++next;
  }

  private void halve() {
    for (int i = 0; i < size / 2; i++) {
      events[i] = events[2 * i + 1];
      owed[i] = owed[2 * i];
    }
    size /= 2;
  }

  /** Among the events from number {@code event} on; without limit if there are none. */
  long leastSince(long event) {
    int at = Arrays.binarySearch(events, 0, size, event);
    int first = at < 0 ? -at - 1 : at;
    return first == size ? Long.MAX_VALUE : owed[first];
  }
}
