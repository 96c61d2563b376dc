package dev.sluice.internal.bucket;

import dev.sluice.Limit;
import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * A limit in whole units: what a token costs and what time mints, so that a store elsewhere can
 * compute exactly as a {@link dev.sluice.TokenBucket} does.
 *
 * <p>Time moves in steps of {@code stepTicks}, each worth {@code unitsPerStep}: one tick where
 * tokens accrue evenly, one period for {@link Limit.Strict}. A limit that time does not refill has
 * steps worth nothing.
 *
 * @param unitsPerToken cost of one token
 * @param unitsPerStep what one step of time mints
 * @param stepTicks length of a step
 * @param capacityUnits the most a bucket holds; not whole tokens where the burst is a fraction
 * @since 0.1
 */
public record LimitUnits(
    long unitsPerToken, long unitsPerStep, long stepTicks, long capacityUnits) {
  /**
   * The largest error without exact units: a bucket may refill slower than configured by this part
   * of its rate.
   */
  private static final BigInteger MAX_ERROR_DIVISOR = BigInteger.valueOf(1_000_000);

  private static final long NANOS_PER_MICRO = 1_000;

  /** The largest integer up to which a {@code double} has no gap. */
  private static final long MAX_DOUBLE_UNITS = (1L << 53) - 1;

  /**
   * The finest division of a limit.
   *
   * @param tickNanos length of a tick
   * @param maxUnits the most a bucket may hold
   * @param maxUnitsPerTick the most one tick may mint; a power of two
   */
  record Resolution(long tickNanos, long maxUnits, long maxUnitsPerTick) {}

  /**
   * Units for a store that counts microseconds and reckons in doubles, as scripts in Redis do: none
   * of them is above 2<sup>53</sup>.
   *
   * @param limit what the bucket allows
   * @return its units, exact or, where exact ones are too large, at most a millionth slower
   * @throws IllegalArgumentException if no units fit the limit, or the period of a strict one is
   *     not whole microseconds
   */
  public static LimitUnits inMicros(Limit limit) {
    if (limit instanceof Limit.Strict strict) {
      long nanos = strict.period().toNanos();
      if (nanos % NANOS_PER_MICRO != 0 || strict.capacity() > MAX_DOUBLE_UNITS) {
        throw new IllegalArgumentException(
            "a strict limit must have whole microseconds and a capacity below 2^53, but was "
                + limit);
      }
      return new LimitUnits(1, strict.capacity(), nanos / NANOS_PER_MICRO, strict.capacity());
    }
    LimitUnits units =
        of(limit, new LimitUnits.Resolution(NANOS_PER_MICRO, MAX_DOUBLE_UNITS, 1L << 40));
    if (units.capacityUnits > MAX_DOUBLE_UNITS) {
      throw new IllegalArgumentException(
          "a limit must have a capacity below 2^53, but was " + limit);
    }
    return units;
  }

  /** Units of any limit but a strict one. */
  static LimitUnits of(Limit limit, LimitUnits.Resolution grain) {
    if (limit instanceof Limit.Balanced balanced) {
      BigInteger period = BigInteger.valueOf(balanced.refillPeriod().toNanos());
      return even(limit, BigInteger.valueOf(balanced.refillTokens()), period, grain);
    }
    if (limit instanceof Limit.Rate rate && rate.perSecond() > 0) {
      return even(limit, BigDecimal.valueOf(rate.perSecond()), grain);
    }
    return new LimitUnits(1, 0, 1, limit.capacity());
  }

  private static LimitUnits even(Limit limit, BigDecimal perSecond, LimitUnits.Resolution grain) {
    BigInteger second = BigInteger.valueOf(1_000_000_000);
    BigInteger power = BigInteger.TEN.pow(Math.abs(perSecond.scale()));
    return perSecond.scale() >= 0
        ? even(limit, perSecond.unscaledValue(), second.multiply(power), grain)
        : even(limit, perSecond.unscaledValue().multiply(power), second, grain);
  }

  /*
   * For A tokens per T ticks and g = gcd(A, T): A/g units per tick and T/g units per token are
   * exact. To have whole numbers, both are taken times the nanoseconds of a tick.
   */
  private static LimitUnits even(
      Limit limit, BigInteger tokens, BigInteger periodNanos, LimitUnits.Resolution grain) {
    BigInteger perPeriod = tokens.multiply(BigInteger.valueOf(grain.tickNanos()));
    BigInteger gcd = perPeriod.gcd(periodNanos);
    BigInteger perTick = perPeriod.divide(gcd);
    if (perTick.compareTo(BigInteger.valueOf(grain.maxUnitsPerTick())) <= 0) {
      BigInteger cost = periodNanos.divide(gcd);
      if (fits(limit, cost, grain)) {
        return even(limit, cost, perTick.longValueExact());
      }
    }
    return nearest(limit, perPeriod, periodNanos, grain);
  }

  /* Powers of two per tick, dearer tokens: slower than configured by less than one unit a token. */
  private static LimitUnits nearest(
      Limit limit, BigInteger tokens, BigInteger period, LimitUnits.Resolution grain) {
    for (long perTick = grain.maxUnitsPerTick(); perTick > 0; perTick >>= 1) {
      BigInteger wanted = period.multiply(BigInteger.valueOf(perTick));
      BigInteger cost = wanted.add(tokens).subtract(BigInteger.ONE).divide(tokens);
      BigInteger error = cost.multiply(tokens).subtract(wanted);
      boolean accurate = error.multiply(MAX_ERROR_DIVISOR).compareTo(wanted) <= 0;
      if (accurate && fits(limit, cost, grain)) {
        return even(limit, cost, perTick);
      }
    }
    throw new IllegalArgumentException(
        "limit is out of range: a bucket must fill within %d years and its rate be expressible to 1e-6 in at most 2^%d units per %d ns, but was %s"
            .formatted(
                yearsToFill(grain),
                Long.numberOfTrailingZeros(grain.maxUnitsPerTick()),
                grain.tickNanos(),
                limit));
  }

  private static long yearsToFill(LimitUnits.Resolution grain) {
    double ticks = grain.maxUnits();
    return (long) (ticks * grain.tickNanos() / 1e9 / 86_400 / 365.25);
  }

  private static LimitUnits even(Limit limit, BigInteger unitsPerToken, long unitsPerTick) {
    long capacityUnits = capacityUnits(limit, unitsPerToken).longValueExact();
    return new LimitUnits(unitsPerToken.longValueExact(), unitsPerTick, 1, capacityUnits);
  }

  private static boolean fits(Limit limit, BigInteger unitsPerToken, LimitUnits.Resolution grain) {
    BigInteger most = BigInteger.valueOf(grain.maxUnits());
    return unitsPerToken.compareTo(most) <= 0
        && capacityUnits(limit, unitsPerToken).compareTo(most) <= 0;
  }

  /** Rounded down: against the caller. */
  private static BigInteger capacityUnits(Limit limit, BigInteger unitsPerToken) {
    BigDecimal tokens =
        limit instanceof Limit.Rate rate
            ? BigDecimal.valueOf(rate.burst())
            : BigDecimal.valueOf(limit.capacity());
    return tokens.multiply(new BigDecimal(unitsPerToken)).toBigInteger();
  }

  /**
   * Returns whether tokens accrue over time.
   *
   * @return whether a step mints anything
   */
  public boolean refills() {
    return unitsPerStep > 0;
  }
}
