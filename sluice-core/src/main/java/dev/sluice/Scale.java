package dev.sluice;

import static dev.sluice.BucketMath.HORIZON_UNITS;
import static dev.sluice.BucketMath.MAX_DEBT_UNITS;

import java.math.BigInteger;

/**
 * A limit in units: how tokens and time map onto the axis on which a bucket reckons.
 *
 * <p>Time moves in steps of {@code stepNanos}, each worth {@code unitsPerStep}: one nanosecond for
 * Balanced, one period for Strict. Manual limits have steps worth nothing, so for them it is always
 * the instant zero.
 *
 * @param limit what this is the scale of
 * @param unitsPerToken cost of one token
 * @param unitsPerStep what one step of time mints
 * @param stepNanos length of a step
 */
record Scale(Limit limit, long unitsPerToken, long unitsPerStep, long stepNanos) {
  /** An epoch must last at least about a second, or the bucket would move it all the time. */
  private static final long MAX_UNITS_PER_NANO = 1L << 30;

  /** Without exact units a bucket may run slower than configured by this part of its rate. */
  private static final long MAX_ERROR_DIVISOR = 1_000_000;

  static Scale of(Limit limit) {
    if (limit instanceof Limit.Balanced balanced) {
      return balanced(balanced);
    }
    if (limit instanceof Limit.Strict strict) {
      return strict(strict);
    }
    return new Scale(limit, 1, 0, 1);
  }

  private static Scale strict(Limit.Strict limit) {
    Scale scale = new Scale(limit, 1, limit.capacity(), limit.period().toNanos());
    if (scale.horizonNanos() < HORIZON_UNITS / MAX_UNITS_PER_NANO) {
      throw new IllegalArgumentException(
          "limit is out of range: at most 2^30 tokens a nanosecond: " + limit);
    }
    return scale;
  }

  /* For A tokens per T ns and g = gcd(A, T): A/g units per ns and T/g units per token are exact. */
  private static Scale balanced(Limit.Balanced limit) {
    long periodNanos = limit.refillPeriod().toNanos();
    BigInteger tokens = BigInteger.valueOf(limit.refillTokens());
    BigInteger period = BigInteger.valueOf(periodNanos);
    long gcd = tokens.gcd(period).longValueExact();
    Scale exact = new Scale(limit, periodNanos / gcd, limit.refillTokens() / gcd, 1);
    return exact.fits() ? exact : nearest(limit, tokens, period);
  }

  /* Powers of two per ns, dearer tokens: slower than configured by less than one unit per token. */
  private static Scale nearest(Limit.Balanced limit, BigInteger tokens, BigInteger period) {
    for (long perNano = MAX_UNITS_PER_NANO; perNano > 0; perNano >>= 1) {
      BigInteger wanted = period.multiply(BigInteger.valueOf(perNano));
      BigInteger cost = wanted.add(tokens).subtract(BigInteger.ONE).divide(tokens);
      if (cost.bitLength() < Long.SIZE) {
        Scale scale = new Scale(limit, cost.longValueExact(), perNano, 1);
        BigInteger error = cost.multiply(tokens).subtract(wanted);
        boolean accurate =
            error.multiply(BigInteger.valueOf(MAX_ERROR_DIVISOR)).compareTo(wanted) <= 0;
        if (scale.fits() && accurate) {
          return scale;
        }
      }
    }
    throw new IllegalArgumentException(
        "limit is out of range: a bucket must fill within 109 years and its rate be expressible to"
            + " 1e-6: "
            + limit);
  }

  private boolean fits() {
    return unitsPerStep <= MAX_UNITS_PER_NANO && unitsPerToken <= MAX_DEBT_UNITS / capacity();
  }

  long capacity() {
    return limit.capacity();
  }

  long capacityUnits() {
    return capacity() * unitsPerToken;
  }

  /** The longest time since an epoch that {@link #unitsAt} takes. */
  long horizonNanos() {
    return unitsPerStep == 0
        ? Long.MAX_VALUE
        : BucketMath.multiplySaturated(HORIZON_UNITS / unitsPerStep, stepNanos, Long.MAX_VALUE);
  }

  /** The instant {@code elapsedNanos} after an epoch; its magnitude is at most the horizon's. */
  long unitsAt(long elapsedNanos) {
    return Math.floorDiv(elapsedNanos, stepNanos) * unitsPerStep;
  }

  /** The first time since the epoch at or after {@code units}, if time alone gets there. */
  long elapsedAt(long units) {
    long steps = BucketMath.ceilDiv(units, unitsPerStep);
    return BucketMath.multiplySaturated(steps, stepNanos, Long.MAX_VALUE);
  }

  /** Whether time moves by nanoseconds, and not by periods. */
  boolean isContinuous() {
    return stepNanos == 1 || !refills();
  }

  /**
   * Full-at behind a caller who is owed {@code tokens} from {@code fullAt} on, seen at {@code now}.
   *
   * <p>Tokens of one period do not outlast it: on a grid, who would straddle a boundary is owed all
   * of them from the boundary on, unless no period has that many.
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

  /** Whether the clock can show {@code units}: its readings wrap 292 years after the epoch. */
  boolean isWithinTime(long units) {
    return !refills() || elapsedAt(units) < Long.MAX_VALUE;
  }

  /** Whether tokens come back by themselves. */
  boolean refills() {
    return unitsPerStep > 0;
  }

  /**
   * The cost of {@code tokens}; one more than can ever be owed where the true cost is beyond it.
   */
  long cost(long tokens) {
    return BucketMath.multiplySaturated(tokens, unitsPerToken, MAX_DEBT_UNITS + 1);
  }
}
