package dev.sluice.internal.bucket;

import static dev.sluice.internal.bucket.BucketMath.HORIZON_UNITS;
import static dev.sluice.internal.bucket.BucketMath.MAX_DEBT_UNITS;

import dev.sluice.Limit;

/**
 * A limit in units: how tokens and time map onto the epoch scale on which a bucket reckons.
 *
 * <p>Time moves in steps of {@code stepNanos}, each worth {@code unitsPerStep}: one nanosecond for
 * Balanced, one period for Strict. Manual limits have steps worth nothing, so for them it is always
 * the instant zero.
 *
 * @param limit what this is the scale of
 * @param unitsPerToken cost of one token
 * @param unitsPerStep what one step of time mints
 * @param stepNanos length of a step
 * @param capacityUnits the most a bucket holds; not whole tokens where the burst is a fraction
 * @param horizonNanos the longest time since an epoch that {@link #unitsAt} takes
 */
public record UnitScale(
    Limit limit,
    long unitsPerToken,
    long unitsPerStep,
    long stepNanos,
    long capacityUnits,
    long horizonNanos) {
  /** An epoch must last at least about a second, or the bucket would move it all the time. */
  private static final long MAX_UNITS_PER_NANO = 1L << 30;

  private static final LimitUnits.Resolution GRAIN =
      new LimitUnits.Resolution(1, MAX_DEBT_UNITS, MAX_UNITS_PER_NANO);

  /** Returns the scale of a named limit; those of queues and callers refill evenly or never. */
  public static UnitScale ofNamed(Limit limit) {
    if (limit instanceof Limit.Strict || limit instanceof Limit.Manual) {
      throw new IllegalArgumentException(
          "a named limit must be Balanced, Rate or DenyAll, but was " + limit);
    }
    return of(limit);
  }

  public static UnitScale of(Limit limit) {
    if (limit instanceof Limit.Strict strict) {
      return strict(strict);
    }
    LimitUnits units = LimitUnits.of(limit, GRAIN);
    return scale(limit, units.unitsPerToken(), units.unitsPerStep(), 1, units.capacityUnits());
  }

  private static UnitScale scale(
      Limit limit, long unitsPerToken, long unitsPerStep, long stepNanos, long capacityUnits) {
    long horizonNanos =
        unitsPerStep == 0
            ? Long.MAX_VALUE
            : BucketMath.multiplySaturated(HORIZON_UNITS / unitsPerStep, stepNanos, Long.MAX_VALUE);
    return new UnitScale(
        limit, unitsPerToken, unitsPerStep, stepNanos, capacityUnits, horizonNanos);
  }

  private static UnitScale strict(Limit.Strict limit) {
    long capacity = limit.capacity();
    UnitScale scale = scale(limit, 1, capacity, limit.period().toNanos(), capacity);
    if (scale.horizonNanos() < HORIZON_UNITS / MAX_UNITS_PER_NANO) {
      throw new IllegalArgumentException(
          "limit is out of range: at most 2^30 tokens a nanosecond: " + limit);
    }
    return scale;
  }

  /** The most whole tokens a bucket holds. */
  long capacity() {
    return limit.capacity();
  }

  /** The instant {@code elapsedNanos} after an epoch; its magnitude is at most the horizon's. */
  long unitsAt(long elapsedNanos) {
    return Math.floorDiv(elapsedNanos, stepNanos) * unitsPerStep;
  }

  /** The first time since the epoch at or after {@code units}, if time alone gets there. */
  public long elapsedAt(long units) {
    long steps = BucketMath.ceilDiv(units, unitsPerStep);
    return BucketMath.multiplySaturated(steps, stepNanos, Long.MAX_VALUE);
  }

  /** Returns whether time advances by nanoseconds, and not by periods. */
  boolean isContinuous() {
    return stepNanos == 1 || !refills();
  }

  /**
   * Full-at behind a caller that is owed {@code tokens} from {@code fullAt} on, at {@code now}.
   *
   * <p>Tokens of one period do not outlast it: on a grid, a waiter that would straddle a boundary
   * is owed all of them from the boundary on, unless no period has that many.
   */
  long place(long fullAt, long tokens, long now) {
    long end = fullAt + cost(tokens);
    if (isContinuous() || tokens > capacity()) {
      return end;
    }
    long boundary =
        Math.max(now + unitsPerStep, BucketMath.ceilDiv(fullAt, unitsPerStep) * unitsPerStep);
    return end > boundary && boundary > fullAt ? boundary + cost(tokens) : end;
  }

  /**
   * Returns whether the clock can show {@code units}: its readings wrap 292 years after the epoch.
   */
  boolean isWithinTime(long units) {
    return !refills() || elapsedAt(units) < Long.MAX_VALUE;
  }

  /** Returns whether tokens accrue over time. */
  public boolean refills() {
    return unitsPerStep > 0;
  }

  /**
   * The cost of {@code tokens}; one more than can ever be owed where the true cost is beyond it.
   */
  public long cost(long tokens) {
    return BucketMath.multiplySaturated(tokens, unitsPerToken, MAX_DEBT_UNITS + 1);
  }
}
