package dev.sluice.properties;

import java.math.BigInteger;
import java.time.Duration;
import java.util.Optional;

/**
 * The reference model of a token bucket: keeps a level and when it had it, in unbounded integers.
 *
 * <p>It shares no code and no representation with the real bucket, which keeps no level, only the
 * instant at which it will be full. Immutable: each method returns the next state.
 *
 * <p>Readings of the clock may be stale. Such a caller can count on the level less the tokens
 * minted since its reading, so a stale reading never mints; at worst the call is denied.
 *
 * @param refill how the bucket refills
 * @param originNanos the reading of the clock at which the bucket was created
 * @param level the units in the bucket at {@code atNanos}; negative if the bucket owes them
 * @param atNanos the reading of the last change of the level, in nanoseconds since the origin
 */
public record BucketModel(Refill refill, long originNanos, BigInteger level, long atNanos) {
  /**
   * The refill of a bucket. One unit is the largest part of a token in which both a token and the
   * refill of a step are whole numbers. A step is a nanosecond, or a period of a strict bucket;
   * periods are counted from the origin.
   *
   * @param capacity the most tokens in the bucket
   * @param unitsPerToken the units in a token
   * @param unitsPerStep the units that a step adds; 0 if the bucket never refills
   * @param stepNanos the length of a step
   */
  public record Refill(
      long capacity, BigInteger unitsPerToken, BigInteger unitsPerStep, long stepNanos) {
    /** Returns a refill of {@code tokens} per period, evenly over the period. */
    public static Refill balanced(long capacity, long tokens, Duration period) {
      BigInteger periodNanos = big(period.toNanos());
      BigInteger common = big(tokens).gcd(periodNanos);
      return new Refill(capacity, periodNanos.divide(common), big(tokens).divide(common), 1);
    }

    /** Returns a refill to the capacity at the start of each period. */
    public static Refill strict(long capacity, Duration period) {
      return new Refill(capacity, BigInteger.ONE, big(capacity), period.toNanos());
    }

    /** Returns the refill of a bucket that only gets what it is given. */
    public static Refill none(long capacity) {
      return new Refill(capacity, BigInteger.ONE, BigInteger.ZERO, 1);
    }

    private BigInteger units(long tokens) {
      return big(tokens).multiply(unitsPerToken);
    }
  }

  /** Returns a bucket that has {@code tokens} at its origin. */
  public static BucketModel of(Refill refill, long tokens, long originNanos) {
    return new BucketModel(refill, originNanos, refill.units(tokens), 0);
  }

  /** Returns the bucket without {@code tokens}; empty if it does not have them. */
  public Optional<BucketModel> take(long tokens, long nowNanos) {
    BigInteger cost = refill.units(tokens);
    BigInteger left = levelAt(nowNanos).subtract(cost);
    if (left.signum() < 0) {
      return Optional.empty();
    }
    boolean late = elapsed(nowNanos) < atNanos;
    return Optional.of(late ? at(level.subtract(cost), atNanos) : at(left, elapsed(nowNanos)));
  }

  /** Returns the bucket with {@code tokens} more, at most its capacity. */
  public BucketModel give(long tokens, long nowNanos) {
    BigInteger before = levelAt(nowNanos);
    BigInteger after = before.add(refill.units(tokens)).min(capacity());
    return before.equals(capacity()) ? this : at(after, elapsed(nowNanos));
  }

  /** Returns the bucket as full as it can be. */
  public BucketModel reset(long nowNanos) {
    return give(refill.capacity, nowNanos);
  }

  /** Returns the bucket with another refill; its level is rounded down to the new units. */
  public BucketModel reconfigure(Refill next, long nowNanos) {
    if (next.equals(refill)) {
      return this;
    }
    BigInteger converted =
        floorDiv(levelAt(nowNanos).multiply(next.unitsPerToken), refill.unitsPerToken);
    BigInteger most = next.units(next.capacity);
    return new BucketModel(next, originNanos, converted.min(most), elapsed(nowNanos));
  }

  /** Returns the whole tokens in the bucket. */
  public long available(long nowNanos) {
    return levelAt(nowNanos).max(BigInteger.ZERO).divide(refill.unitsPerToken).longValueExact();
  }

  /**
   * Returns the nanoseconds until the bucket has {@code tokens}, at most its capacity; −1 if it
   * never will.
   */
  public BigInteger waitNanos(long tokens, long nowNanos) {
    BigInteger missing = refill.units(tokens).subtract(levelAt(nowNanos));
    if (missing.signum() <= 0) {
      return BigInteger.ZERO;
    }
    if (refill.unitsPerStep.signum() == 0) {
      return BigInteger.ONE.negate();
    }
    BigInteger steps =
        missing.add(refill.unitsPerStep).subtract(BigInteger.ONE).divide(refill.unitsPerStep);
    BigInteger sinceStep = big(Math.floorMod(elapsed(nowNanos), refill.stepNanos));
    return steps.multiply(big(refill.stepNanos)).subtract(sinceStep);
  }

  private BucketModel at(BigInteger newLevel, long newAtNanos) {
    return new BucketModel(refill, originNanos, newLevel, newAtNanos);
  }

  private BigInteger levelAt(long nowNanos) {
    BigInteger steps = big(steps(elapsed(nowNanos)) - steps(atNanos));
    return level.add(steps.multiply(refill.unitsPerStep)).min(capacity());
  }

  private long steps(long elapsedNanos) {
    return Math.floorDiv(elapsedNanos, refill.stepNanos);
  }

  private long elapsed(long nowNanos) {
    return nowNanos - originNanos;
  }

  private BigInteger capacity() {
    return refill.units(refill.capacity);
  }

  private static BigInteger floorDiv(BigInteger a, BigInteger positive) {
    BigInteger[] quotient = a.divideAndRemainder(positive);
    return quotient[1].signum() < 0 ? quotient[0].subtract(BigInteger.ONE) : quotient[0];
  }

  private static BigInteger big(long value) {
    return BigInteger.valueOf(value);
  }
}
