package dev.sluice.governor.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * The least that was owed since some event. Entries that a later and smaller one makes useless are
 * dropped: what is left rises from the oldest to the newest. When there are too many, neighbors
 * become one with the smaller figure of the two, which errs on the side of those who gave tokens.
 */
public final class DebtHistory {
  static final int MAX_ENTRIES = 4_096;

  private static final int FEW_ENTRIES = 8;

  private long[] events = new long[FEW_ENTRIES];
  private long[] owed = new long[FEW_ENTRIES];
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

  /**
   * It turns out that so much less was charged just before number {@code event}: it was owed less
   * ever since, and who asks for another refund must not count that twice.
   */
  void correct(long event, long less) {
    int first = indexOf(event);
    for (int i = first; i < size; i++) {
      owed[i] -= less;
    }
    // Older ones that are not smaller any more are useless now.
    int kept = first;
    while (first < size && kept > 0 && owed[kept - 1] >= owed[first]) {
      kept--;
    }
    if (kept < first) {
      System.arraycopy(events, first, events, kept, size - first);
      System.arraycopy(owed, first, owed, kept, size - first);
      size -= first - kept;
    }
  }

  private int indexOf(long event) {
    int at = Arrays.binarySearch(events, 0, size, event);
    return at < 0 ? -at - 1 : at;
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
    int first = indexOf(event);
    return first == size ? Long.MAX_VALUE : owed[first];
  }

  /** In other units, which keep the order. */
  void replaceAll(LongUnaryOperator conversion) {
    for (int i = 0; i < size; i++) {
      owed[i] = conversion.applyAsLong(owed[i]);
    }
  }

  // ---- over a restart

  /** The debt at an event. */
  public record ChargeRecord(long event, long owed) {}

  /** All of it. */
  public record Saved(List<DebtHistory.ChargeRecord> entries, long next) {}

  Saved save(LongUnaryOperator conversion) {
    List<DebtHistory.ChargeRecord> entries = new ArrayList<>(size);
    for (int i = 0; i < size; i++) {
      entries.add(new DebtHistory.ChargeRecord(events[i], conversion.applyAsLong(owed[i])));
    }
    return new Saved(entries, next);
  }

  void restore(Saved saved, LongUnaryOperator conversion) {
    size = saved.entries().size();
    events = new long[Math.max(size, FEW_ENTRIES)];
    owed = new long[Math.max(size, FEW_ENTRIES)];
    for (int i = 0; i < size; i++) {
      events[i] = saved.entries().get(i).event();
      owed[i] = conversion.applyAsLong(saved.entries().get(i).owed());
    }
    next = saved.next();
  }
}
