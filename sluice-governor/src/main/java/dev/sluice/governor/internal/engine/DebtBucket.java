package dev.sluice.governor.internal.engine;

import dev.sluice.Limit;
import dev.sluice.internal.bucket.UnitScale;
import java.math.BigInteger;

/**
 * Tokens that accrue evenly, up to a capacity. Kept as what is owed to a full bucket, in units of
 * which both a token and a nanosecond have a whole number, so that nothing is ever rounded.
 *
 * <p>Charging is unconditional: usage may turn out higher than what was reserved, and the meter is
 * then below zero until time has made up for it. Not thread-safe.
 */
public final class DebtBucket {
  private static final long MAX_UNITS = Long.MAX_VALUE / 4;

  private long capacity;
  private long fullCapacity;
  private long fullUnits;
  private long unitsPerToken;
  private long unitsPerNano;
  private final RefundBounds history = new RefundBounds();
  private long owed;
  private long at;

  private DebtBucket(long now) {
    this.at = now;
  }

  /**
   * Returns a bucket that is full at {@code now}.
   *
   * @throws IllegalArgumentException if no units of the limit fit into 64 bits
   */
  public static DebtBucket full(Limit.Balanced limit, long now) {
    DebtBucket bucket = new DebtBucket(now);
    bucket.tune(limit);
    return bucket;
  }

  /**
   * Applies another limit from now on; the debt stays.
   *
   * @throws IllegalArgumentException if no units of the limit fit into 64 bits
   */
  public void tune(Limit.Balanced limit) {
    UnitScale scale = UnitScale.of(limit);
    if (scale.capacityUnits() > MAX_UNITS) {
      throw new IllegalArgumentException(
          "limit is out of range: capacity must be at most %d at this rate, but was %s"
              .formatted(MAX_UNITS / scale.unitsPerToken(), limit));
    }
    use(scale.unitsPerToken());
    capacity = limit.capacity();
    fullCapacity = capacity;
    fullUnits = scale.unitsPerToken();
    unitsPerNano = scale.unitsPerStep();
  }

  /** Goes by so much of its capacity and rate from now on, above 0 and at most 1. */
  void slow(double factor) {
    use((long) Math.ceil(fullUnits / factor));
    capacity = Math.max(1, (long) (fullCapacity * factor));
  }

  private void use(long newUnits) {
    if (unitsPerToken != 0 && newUnits != unitsPerToken) {
      // Never in favor of callers: debts are rounded up, refunds down.
      long oldUnits = unitsPerToken;
      owed = scaled(owed, newUnits, oldUnits, true);
      history.replaceAll(debt -> scaled(debt, newUnits, oldUnits, false));
    }
    unitsPerToken = newUnits;
  }

  private static long scaled(long units, long to, long from, boolean up) {
    BigInteger[] parts =
        BigInteger.valueOf(units)
            .multiply(BigInteger.valueOf(to))
            .divideAndRemainder(BigInteger.valueOf(from));
    long whole = parts[0].min(BigInteger.valueOf(MAX_UNITS)).longValue();
    return up && parts[1].signum() > 0 ? Math.min(MAX_UNITS, whole + 1) : whole;
  }

  long capacity() {
    return capacity;
  }

  /** Lets time pass; an earlier instant than before changes nothing. True if anything accrued. */
  boolean advance(long now) {
    long elapsed = now - at;
    if (elapsed <= 0) {
      return false;
    }
    at = now;
    if (owed == 0) {
      return false;
    }
    owed = elapsed > owed / unitsPerNano ? 0 : owed - elapsed * unitsPerNano;
    return true;
  }

  /** Whole tokens that are there, less than zero after overuse. */
  public long available() {
    return Math.floorDiv(capacity * unitsPerToken - owed, unitsPerToken);
  }

  /** Returns whether {@code tokens} can be taken so that {@code floor} tokens are left. */
  boolean has(long tokens, long floor) {
    return room(floor) >= units(tokens);
  }

  /** Returns the nanoseconds until {@link #has} holds if no tokens are taken; 0 if it holds now. */
  long nanosUntil(long tokens, long floor) {
    long missing = units(tokens) - room(floor);
    return missing <= 0 ? 0 : (missing + unitsPerNano - 1) / unitsPerNano;
  }

  private long room(long floor) {
    return units(capacity - floor) - owed;
  }

  private long units(long tokens) {
    return tokens > MAX_UNITS / unitsPerToken ? MAX_UNITS : tokens * unitsPerToken;
  }

  /**
   * Charges {@code tokens} unconditionally; the balance may go negative. Returns the charge, for
   * {@link #refund}.
   */
  long charge(long tokens) {
    long event = history.record(owed);
    owed = Math.min(MAX_UNITS, owed + units(tokens));
    return event;
  }

  /**
   * Refunds up to {@code tokens} of a charge, but never more than the lowest debt since the charge:
   * the rest has been refilled and may have been granted to others.
   *
   * @param charge what {@link #charge} returned
   * @return the refunded whole tokens
   */
  long refund(long tokens, long charge) {
    long stillOwed = Math.min(owed, history.leastSince(charge));
    long refunded = Math.min(units(tokens), stillOwed) / unitsPerToken;
    owed -= refunded * unitsPerToken;
    history.correct(charge, refunded * unitsPerToken);
    return refunded;
  }

  /**
   * Charges what was used beyond an earlier charge, but no more whole tokens than let it owe twice
   * its capacity.
   *
   * @return how many were charged
   */
  long overcharge(long tokens) {
    long most = Math.max(0, 2 * units(capacity) - owed) / unitsPerToken;
    long charged = Math.min(most, tokens);
    history.record(owed);
    owed += charged * unitsPerToken;
    return charged;
  }

  /** Charges {@code tokens} unconditionally; none of them can be refunded. */
  void take(long tokens) {
    owed = Math.min(MAX_UNITS, owed + units(tokens));
  }

  /** Nothing is left, and nothing that was charged before can be refunded. */
  void empty() {
    history.record(0);
    owed = units(capacity);
  }

  /** Makes it hold at most so many tokens; never more than before. */
  void lowerTo(long tokens) {
    owed = Math.max(owed, units(capacity) - units(Math.max(0, tokens)));
  }

  /**
   * Returns the time since the bucket was empty, if no tokens were taken since; 0 if it has debt.
   */
  long nanosSinceEmpty() {
    return Math.max(0, units(capacity) - owed) / unitsPerNano;
  }

  /** Nothing is owed. */
  boolean isFull() {
    return owed == 0;
  }

  // ---- over a restart

  /** Time goes on from there, which may be earlier. */
  void clock(long now) {
    at = now;
  }

  /** The debt in whole tokens, and the part of it that can be refunded. */
  public record Saved(long owedTokens, RefundBounds.Saved history) {}

  public Saved save() {
    return new Saved(
        (owed + unitsPerToken - 1) / unitsPerToken, history.save(debt -> debt / unitsPerToken));
  }

  void restore(Saved saved) {
    owed = units(saved.owedTokens());
    history.restore(saved.history(), this::units);
  }
}
