package dev.sluice.governor.internal.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * The lowest debt of a bucket since each charge, which bounds its refund. Entries that a later and
 * lower one makes useless are dropped, so debts rise from the oldest to the newest. When there are
 * too many, neighbors become one with the lower debt of the two: a refund may return less than it
 * could, but never more.
 */
public final class RefundBounds {
  static final int MAX_ENTRIES = 4_096;

  private static final int FEW_ENTRIES = 8;

  private long[] events = new long[FEW_ENTRIES];
  private long[] owed = new long[FEW_ENTRIES];
  private int size;
  private long next;

  /** Records the present debt; returns the number of the charge that follows. */
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
   * Lowers all debts since charge {@code event} by a refund of it, so that other refunds do not
   * return the same tokens again.
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

  /** Returns the lowest debt since charge {@code event}; unbounded if there is none. */
  long leastSince(long event) {
    int first = indexOf(event);
    return first == size ? Long.MAX_VALUE : owed[first];
  }

  /** Converts all debts to other units, which keep the order. */
  void replaceAll(LongUnaryOperator conversion) {
    for (int i = 0; i < size; i++) {
      owed[i] = conversion.applyAsLong(owed[i]);
    }
  }

  // ---- over a restart

  /** The debt just before a charge. */
  public record ChargeRecord(long event, long owed) {}

  /** The content, for a restart. */
  public record Saved(List<RefundBounds.ChargeRecord> entries, long next) {}

  Saved save(LongUnaryOperator conversion) {
    List<RefundBounds.ChargeRecord> entries = new ArrayList<>(size);
    for (int i = 0; i < size; i++) {
      entries.add(new RefundBounds.ChargeRecord(events[i], conversion.applyAsLong(owed[i])));
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
