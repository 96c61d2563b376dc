package dev.sluice;

import static dev.sluice.BucketMath.HORIZON_UNITS;
import static dev.sluice.BucketMath.MAX_DEBT_UNITS;

import java.math.BigDecimal;
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
 * @param capacityUnits the most a bucket holds; not whole tokens where the burst is a fraction
 * @param horizonNanos the longest time since an epoch that {@link #unitsAt} takes
 */
record Scale(
    Limit limit,
    long unitsPerToken,
    long unitsPerStep,
    long stepNanos,
    long capacityUnits,
    long horizonNanos) {
  /** An epoch must last at least about a second, or the bucket would move it all the time. */
  private static final long MAX_UNITS_PER_NANO = 1L << 30;

  /** Without exact units a bucket may run slower than configured by this part of its rate. */
  private static final BigInteger MAX_ERROR_DIVISOR = BigInteger.valueOf(1_000_000);

  private static final BigInteger MAX_CAPACITY_UNITS = BigInteger.valueOf(MAX_DEBT_UNITS);

  static Scale of(Limit limit) {
    if (limit instanceof Limit.Balanced balanced) {
      BigInteger period = BigInteger.valueOf(balanced.refillPeriod().toNanos());
      return even(limit, BigInteger.valueOf(balanced.refillTokens()), period);
    }
    if (limit instanceof Limit.Rate rate && rate.perSecond() > 0) {
      return even(limit, BigDecimal.valueOf(rate.perSecond()));
    }
    if (limit instanceof Limit.Strict strict) {
      return strict(strict);
    }
    return scale(limit, 1, 0, 1, limit.capacity());
  }

  private static Scale scale(
      Limit limit, long unitsPerToken, long unitsPerStep, long stepNanos, long capacityUnits) {
    long horizonNanos =
        unitsPerStep == 0
            ? Long.MAX_VALUE
            : BucketMath.multiplySaturated(HORIZON_UNITS / unitsPerStep, stepNanos, Long.MAX_VALUE);
    return new Scale(limit, unitsPerToken, unitsPerStep, stepNanos, capacityUnits, horizonNanos);
  }

  private static Scale strict(Limit.Strict limit) {
    long capacity = limit.capacity();
    Scale scale = scale(limit, 1, capacity, limit.period().toNanos(), capacity);
    if (scale.horizonNanos() < HORIZON_UNITS / MAX_UNITS_PER_NANO) {
      throw new IllegalArgumentException(
          "limit is out of range: at most 2^30 tokens a nanosecond: " + limit);
    }
    return scale;
  }

  private static Scale even(Limit limit, BigDecimal perSecond) {
    BigInteger second = BigInteger.valueOf(1_000_000_000);
    BigInteger power = BigInteger.TEN.pow(Math.abs(perSecond.scale()));
    return perSecond.scale() >= 0
        ? even(limit, perSecond.unscaledValue(), second.multiply(power))
        : even(limit, perSecond.unscaledValue().multiply(power), second);
  }

  /* For A tokens per T ns and g = gcd(A, T): A/g units per ns and T/g units per token are exact. */
  private static Scale even(Limit limit, BigInteger tokens, BigInteger periodNanos) {
    BigInteger gcd = tokens.gcd(periodNanos);
    BigInteger perNano = tokens.divide(gcd);
    if (perNano.compareTo(BigInteger.valueOf(MAX_UNITS_PER_NANO)) <= 0) {
      BigInteger cost = periodNanos.divide(gcd);
      if (fits(limit, cost)) {
        return even(limit, cost, perNano.longValueExact());
      }
    }
    return nearest(limit, tokens, periodNanos);
  }

  /* Powers of two per ns, dearer tokens: slower than configured by less than one unit per token. */
  private static Scale nearest(Limit limit, BigInteger tokens, BigInteger periodNanos) {
    for (long perNano = MAX_UNITS_PER_NANO; perNano > 0; perNano >>= 1) {
      BigInteger wanted = periodNanos.multiply(BigInteger.valueOf(perNano));
      BigInteger cost = wanted.add(tokens).subtract(BigInteger.ONE).divide(tokens);
      BigInteger error = cost.multiply(tokens).subtract(wanted);
      boolean accurate = error.multiply(MAX_ERROR_DIVISOR).compareTo(wanted) <= 0;
      if (accurate && fits(limit, cost)) {
        return even(limit, cost, perNano);
      }
    }
    throw new IllegalArgumentException(
        "limit is out of range: a bucket must fill within 109 years and its rate be expressible to"
            + " 1e-6 in at most 2^30 units a nanosecond: "
            + limit);
  }

  private static Scale even(Limit limit, BigInteger unitsPerToken, long unitsPerNano) {
    long capacityUnits = capacityUnits(limit, unitsPerToken).longValueExact();
    return scale(limit, unitsPerToken.longValueExact(), unitsPerNano, 1, capacityUnits);
  }

  private static boolean fits(Limit limit, BigInteger unitsPerToken) {
    return unitsPerToken.compareTo(MAX_CAPACITY_UNITS) <= 0
        && capacityUnits(limit, unitsPerToken).compareTo(MAX_CAPACITY_UNITS) <= 0;
  }

  /** Rounded down: against the caller. */
  private static BigInteger capacityUnits(Limit limit, BigInteger unitsPerToken) {
    BigDecimal tokens =
        limit instanceof Limit.Rate rate
            ? BigDecimal.valueOf(rate.burst())
            : BigDecimal.valueOf(limit.capacity());
    return tokens.multiply(new BigDecimal(unitsPerToken)).toBigInteger();
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
