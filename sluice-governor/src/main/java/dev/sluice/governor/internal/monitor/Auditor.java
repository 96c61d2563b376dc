package dev.sluice.governor.internal.monitor;

import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import java.util.stream.LongStream;

/**
 * Counts what is granted of one model, apart from its meters, and compares every window of up to 60
 * seconds with the limit: the burst, and what accrues in that window. A refund lowers what was
 * counted at the time of its grant. Usage beyond a reservation was not admitted by anybody, and is
 * not counted. Not thread-safe.
 *
 * <p>Tokens are counted in slots of 100 ms; a window goes from the beginning of a slot to the last
 * grant of another, and has exactly what the slots between have. So there is never a false alarm,
 * and an excess is at most what accrues in 200 ms larger than what is said here. Every grant costs
 * the same; a slot with grants costs one pass over the slots when it is over. (Windows of up to
 * 60.1 seconds are looked at, so that none of 60 is missed.)
 */
public final class Auditor {
  public static final long SLOT_NANOS = 100_000_000L;
  public static final int WINDOW_SLOTS = 600;

  // A window that begins within a slot ends within another, so it takes one more.
  private static final int SLOTS = WINDOW_SLOTS + 1;
  private static final long WINDOW_NANOS = SLOT_NANOS * WINDOW_SLOTS;
  private static final long MILLI_NANOS = 1_000_000L;
  private static final long MINUTE_MILLIS = 60_000L;

  private final long[] slots = new long[SLOTS];
  private final long start;
  private Auditor.WindowLimit limit;
  // The most that was in force lately, and until when it counts.
  private Auditor.WindowLimit loosest;
  private long looseUntil;
  // Since the start.
  private long current;
  private long lastGrant;
  private boolean unchecked;
  private long error;
  // Since the limits in force were last known.
  private long suspected;
  private long worst;
  private long excess;

  private record WindowLimit(long burst, long target) {
    static Auditor.WindowLimit of(ModelBudget budget) {
      return new Auditor.WindowLimit(budget.tokens().capacity(), budget.tokens().refillTokens());
    }

    Auditor.WindowLimit orMore(Auditor.WindowLimit other) {
      return new Auditor.WindowLimit(Math.max(burst, other.burst), Math.max(target, other.target));
    }

    /** Whole tokens in so long, exactly: 64 bits are enough for any budget and window. */
    long in(long nanos) {
      long tokenMillis = target * (nanos / MILLI_NANOS);
      long rest = tokenMillis % MINUTE_MILLIS * MILLI_NANOS + target * (nanos % MILLI_NANOS);
      return burst + tokenMillis / MINUTE_MILLIS + rest / (MINUTE_MILLIS * MILLI_NANOS);
    }
  }

  public Auditor(ModelBudget budget, long now) {
    start = now;
    limit = Auditor.WindowLimit.of(budget);
    loosest = limit;
    looseUntil = 0;
  }

  /**
   * Replaces the budget. Stores may apply it up to a minute later, and windows that began before
   * may have what either budget allows; so the larger one holds until they are over, after two
   * minutes.
   */
  public void reload(ModelBudget budget, long now) {
    advance(now);
    use(Auditor.WindowLimit.of(budget), now);
  }

  private void use(Auditor.WindowLimit next, long now) {
    Auditor.WindowLimit before = inForce(now - start);
    limit = next;
    loosest = before.orMore(limit);
    looseUntil = now - start + 2 * WINDOW_NANOS;
  }

  /**
   * Records the limits that the store applies. If they differ, another node has changed them:
   * grants above the known limit may have been within the new one.
   */
  public void recordLimits(long burst, long target, long now) {
    advance(now);
    check();
    Auditor.WindowLimit told = new Auditor.WindowLimit(burst, target);
    if (told.equals(limit)) {
      error = Math.max(error, suspected);
    } else {
      use(told, now);
    }
    suspected = 0;
  }

  private Auditor.WindowLimit inForce(long at) {
    return at < looseUntil ? loosest : limit;
  }

  public void granted(long tokens, long now) {
    advance(now);
    // An instant before the slot is taken for its beginning.
    lastGrant = Math.max(lastGrant, Math.max(current * SLOT_NANOS, now - start));
    slots[index(current)] += tokens;
    unchecked = true;
  }

  /** Subtracts refunded tokens from the window of their grant. */
  public void refunded(long tokens, long grantedAt, long now) {
    advance(now);
    long slot = Math.floorDiv(grantedAt - start, SLOT_NANOS);
    if (slot >= 0 && slot > current - SLOTS && slot <= current) {
      slots[index(slot)] = Math.max(0, slots[index(slot)] - tokens);
    }
  }

  /** A settlement reported so many tokens more than it could be charged for. */
  void exceeded(long tokens) {
    excess += tokens;
  }

  public GovernorStatus.Audit report(long now) {
    advance(now);
    check();
    return new GovernorStatus.Audit(
        admitted(), limit.in(WINDOW_NANOS), Math.max(error, suspected), worst, excess);
  }

  /** Time goes on: what is over is checked, and what is older than a window is forgotten. */
  private void advance(long now) {
    long slot = Math.floorDiv(now - start, SLOT_NANOS);
    if (slot <= current) {
      return;
    }
    check();
    for (long each = Math.max(current + 1, slot - SLOTS + 1); each <= slot; each++) {
      slots[index(each)] = 0;
    }
    current = slot;
  }

  /** All windows that end with the last grant, if there was one since it was checked last. */
  private void check() {
    if (!unchecked) {
      return;
    }
    unchecked = false;
    Auditor.WindowLimit allowed = inForce(lastGrant);
    long admitted = 0;
    for (long slot = current; slot >= 0 && slot > current - SLOTS; slot--) {
      admitted += slots[index(slot)];
      suspected = Math.max(suspected, admitted - allowed.in(lastGrant - slot * SLOT_NANOS));
    }
    worst = Math.max(worst, admitted());
  }

  /**
   * Returns the tokens admitted in the last window, without those kept for windows that began
   * earlier.
   */
  private long admitted() {
    return LongStream.of(slots).sum() - slots[index(current + 1)];
  }

  private static int index(long slot) {
    return Math.floorMod(slot, SLOTS);
  }
}
