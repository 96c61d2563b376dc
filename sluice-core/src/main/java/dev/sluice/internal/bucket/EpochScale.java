package dev.sluice.internal.bucket;

import static dev.sluice.internal.bucket.BucketMath.MAX_DEBT_UNITS;

import dev.sluice.Decision;

/**
 * A scale laid on time: where instants lie, in units since an epoch.
 *
 * @param scale what a nanosecond and a token are worth
 * @param epochNanos the instant zero
 * @param bornNanos the instant from which on it is used
 * @param first whether nothing came before it, so that an earlier reading means the epoch
 */
public record EpochScale(UnitScale scale, long epochNanos, long bornNanos, boolean first) {
  /** An instant so far before the epoch that nothing is known of it: no level reaches it. */
  private static final long TOO_EARLY_UNITS = -(MAX_DEBT_UNITS + 1);

  /** An instant at which every debt has been paid. */
  private static final long PAID_UP_UNITS = 1L << 62;

  static EpochScale first(UnitScale scale, long nowNanos) {
    return new EpochScale(scale, nowNanos, nowNanos, true);
  }

  /**
   * The epoch scale, of an equal or another scale, from {@code atNanos} on.
   *
   * @param originNanos where the grid of a strict limit starts
   */
  EpochScale next(UnitScale next, long originNanos, long atNanos) {
    long step = next.stepNanos();
    long gridNanos = originNanos + Math.floorDiv(atNanos - originNanos, step) * step;
    return new EpochScale(next, gridNanos - slackNanos(next), atNanos, false);
  }

  /**
   * An epoch scale for buckets that start at any time: readings before {@code atNanos} are exact
   * too.
   */
  public static EpochScale around(UnitScale scale, long atNanos) {
    return new EpochScale(scale, atNanos - slackNanos(scale), atNanos, false);
  }

  /** This epoch scale, as seen by a bucket that goes over to it at {@code atNanos}. */
  EpochScale usedFrom(long atNanos) {
    return new EpochScale(scale, epochNanos, atNanos, first);
  }

  /**
   * Returns how far in the past a later epoch scale starts, so that stale clock readings stay
   * exact.
   */
  static long slackNanos(UnitScale scale) {
    return scale.horizonNanos() / 4 / scale.stepNanos() * scale.stepNanos();
  }

  /** Returns whether this epoch scale can record grants at {@code nowNanos}. */
  public boolean covers(long nowNanos) {
    return nowNanos - epochNanos < scale.horizonNanos();
  }

  /** Returns the instant {@code nowNanos}, at any distance from the epoch. */
  public long unitsAt(long nowNanos) {
    long elapsedNanos = nowNanos - epochNanos;
    if (elapsedNanos < 0) {
      if (first || !scale.refills()) {
        return 0;
      }
      return elapsedNanos <= -scale.horizonNanos() ? TOO_EARLY_UNITS : scale.unitsAt(elapsedNanos);
    }
    long steps = elapsedNanos / scale.stepNanos();
    return BucketMath.multiplySaturated(steps, scale.unitsPerStep(), PAID_UP_UNITS);
  }

  /** Nanoseconds from {@code nowNanos} until {@code units}, zero if that is past. */
  long nanosUntil(long units, long nowNanos) {
    if (units <= unitsAt(nowNanos)) {
      return 0;
    }
    long waitNanos = scale.elapsedAt(units) - (nowNanos - epochNanos);
    return waitNanos < 0 ? Long.MAX_VALUE : waitNanos;
  }

  /** Whole tokens there at {@code nowNanos} when the bucket is full at {@code fullAt}. */
  public long availableAt(long fullAt, long nowNanos) {
    return BucketMath.level(fullAt, unitsAt(nowNanos), scale.capacityUnits())
        / scale.unitsPerToken();
  }

  /** Returns the decision that {@code outcome}, a full-at or its complement, stands for. */
  public Decision decision(String limitName, long outcome, long tokens, long nowNanos) {
    if (outcome >= 0) {
      return new Decision.Granted(availableAt(outcome, nowNanos));
    }
    if (tokens > scale.capacity()) {
      return new Decision.Impossible(limitName, scale.capacity());
    }
    long fullAt = ~outcome;
    if (!scale.refills()) {
      return new Decision.Depleted(limitName, tokens - availableAt(fullAt, nowNanos));
    }
    long grantableAt = fullAt + scale.cost(tokens) - scale.capacityUnits();
    return new Decision.Denied(limitName, nanosUntil(grantableAt, nowNanos));
  }

  /** An instant certainly not later than the grant that led to {@code fullAt}, nor before birth. */
  long usedUntilNanos(long fullAt) {
    long units = fullAt - scale.capacityUnits();
    return units <= 0 || !scale.refills()
        ? bornNanos
        : later(bornNanos, epochNanos + scale.elapsedAt(units));
  }

  /** A full-at of this epoch scale on {@code next}: tokens kept, clamped, never gained. */
  long carry(long fullAt, EpochScale next) {
    long carried =
        scale.equals(next.scale)
            ? shift(fullAt, next)
            : next.unitsAt(next.bornNanos)
                + Math.max(0, convert(Math.max(0, fullAt - unitsAt(next.bornNanos)), next.scale));
    return Math.max(0, carried);
  }

  /** Converts the full-at of a bucket with waiters, which may exceed the capacity: not clamped. */
  long carryFront(long fullAt, EpochScale next) {
    return scale.equals(next.scale)
        ? shift(fullAt, next)
        : next.unitsAt(next.bornNanos) + convert(fullAt - unitsAt(next.bornNanos), next.scale);
  }

  private long shift(long fullAt, EpochScale next) {
    long steps = (next.epochNanos - epochNanos) / scale.stepNanos();
    return fullAt - BucketMath.multiplySaturated(steps, scale.unitsPerStep(), PAID_UP_UNITS);
  }

  /** Debt in units of {@code next}, rounded up, that leaves as many tokens as {@code debt} here. */
  long convert(long debt, UnitScale next) {
    long level = scale.capacityUnits() - debt;
    long most = MAX_DEBT_UNITS;
    long per = scale.unitsPerToken();
    long tokens =
        level >= 0
            ? BucketMath.scaleDown(level, next.unitsPerToken(), per, most)
            : -BucketMath.scaleUp(-level, next.unitsPerToken(), per, most);
    return next.capacityUnits() - tokens;
  }

  public static long later(long nanos, long otherNanos) {
    return nanos - otherNanos > 0 ? nanos : otherNanos;
  }

  public static long earlier(long nanos, long otherNanos) {
    return nanos - otherNanos < 0 ? nanos : otherNanos;
  }
}
