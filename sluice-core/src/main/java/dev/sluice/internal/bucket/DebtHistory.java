package dev.sluice.internal.bucket;

import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/**
 * The lowest debt of a bucket since some charge, by which a return of that charge is bounded.
 *
 * <p>Has an entry for a charge only while no later one found a lower debt, so debts rise from the
 * oldest entry to the newest. When there are too many, neighbors whose debts are close become one
 * with the lowest debt of them: then a return may give back less than it could, but never more.
 */
public final class DebtHistory {
  public static final int MAX_ENTRIES = 1_024;

  private static final int FEW_ENTRIES = 8;

  /** Numbers of charges; rising. */
  private long[] charges = new long[FEW_ENTRIES];

  /** The debt just before each of them, in units. */
  private long[] debts = new long[FEW_ENTRIES];

  private int size;

  /** Debts that differ by less share an entry. */
  private long grain;

  /** Notes what is owed just before {@code charge}, which comes after all charges noted so far. */
  void record(long charge, long debt) {
    while (size > 0 && debts[size - 1] >= debt) {
      size--;
    }
    if (size == 0) {
      startOver();
    } else if (size == MAX_ENTRIES) {
      thin();
    } else if (size == charges.length) {
      resize(2 * size);
    }
    size = add(size, charge, debt);
  }

  /** Returns how many entries there are with one more debt, which is not below the others. */
  private int add(int count, long charge, long debt) {
    if (count > 0 && debt - debts[count - 1] < grain) {
      charges[count - 1] = charge;
      return count;
    }
    charges[count] = charge;
    debts[count] = debt;
    return count + 1;
  }

  private void startOver() {
    grain = 0;
    if (charges.length > FEW_ENTRIES) {
      resize(FEW_ENTRIES);
    }
  }

  private void resize(int length) {
    charges = Arrays.copyOf(charges, length);
    debts = Arrays.copyOf(debts, length);
  }

  private void thin() {
    grain = Math.max(grain, (debts[size - 1] - debts[0]) / (MAX_ENTRIES / 2) + 1);
    int kept = 0;
    for (int i = 0; i < size; i++) {
      kept = add(kept, charges[i], debts[i]);
    }
    size = kept;
  }

  /** Returns the lowest debt noted after {@code charge}; unbounded if there is none. */
  long lowestSince(long charge) {
    int first = firstAfter(charge);
    return first == size ? Long.MAX_VALUE : debts[first];
  }

  /**
   * Lowers every debt noted after {@code charge} by {@code units} that the charge gave back: they
   * bound the returns of other charges, and must not be given back a second time.
   *
   * @param units at most {@link #lowestSince} of the charge
   */
  void correct(long charge, long units) {
    int first = firstAfter(charge);
    for (int i = first; i < size; i++) {
      debts[i] -= units;
    }
    int kept = first;
    while (first < size && kept > 0 && debts[kept - 1] >= debts[first]) {
      kept--;
    }
    if (kept < first) {
      System.arraycopy(charges, first, charges, kept, size - first);
      System.arraycopy(debts, first, debts, kept, size - first);
      size -= first - kept;
    }
  }

  private int firstAfter(long charge) {
    int at = Arrays.binarySearch(charges, 0, size, charge);
    return at < 0 ? -at - 1 : at + 1;
  }

  /** Changes the unit of all debts; {@code conversion} keeps their order. */
  void convert(LongUnaryOperator conversion) {
    for (int i = 0; i < size; i++) {
      debts[i] = conversion.applyAsLong(debts[i]);
    }
    grain = conversion.applyAsLong(grain);
  }
}
