package dev.sluice.verify;

import dev.sluice.Limit;
import java.math.BigInteger;
import java.util.Optional;

/**
 * The sequential specification: a textbook token bucket that keeps a level and when it had it.
 *
 * <p>Immutable, in unbounded integers, and nothing of the real bucket's representation: that one
 * keeps no level, only the instant at which it will be full.
 *
 * <p>Readings of the clock may be late. A late caller can count on the level less what has been
 * minted since its reading; so a late reading never mints, and at worst it denies.
 *
 * @param limit the limit in force
 * @param level units there at {@code atNanos}, negative for what is owed
 * @param atNanos the reading of whoever changed the level last
 */
record BucketModel(Limit limit, BigInteger level, long atNanos) {
  /*
   * One unit is the largest part of a token in which both a token and what a step of time mints are
   * whole numbers; a step is a nanosecond, or a period where the limit is strict. Steps are counted
   * from zero, where the clocks of all suites start.
   */

  static BucketModel of(Limit limit, long tokens, long nowNanos) {
    return new BucketModel(limit, big(tokens).multiply(token(limit)), nowNanos);
  }

  /** Empty if {@code tokens} are not there. */
  Optional<BucketModel> take(long tokens, long nowNanos) {
    BigInteger left = levelAt(nowNanos).subtract(cost(tokens));
    if (left.signum() < 0) {
      return Optional.empty();
    }
    boolean late = nowNanos < atNanos;
    return Optional.of(
        late
            ? new BucketModel(limit, level.subtract(cost(tokens)), atNanos)
            : new BucketModel(limit, left, nowNanos));
  }

  BucketModel give(long tokens, long nowNanos) {
    BigInteger before = levelAt(nowNanos);
    BigInteger after = before.add(cost(tokens)).min(capacity());
    return before.equals(capacity()) ? this : new BucketModel(limit, after, nowNanos);
  }

  BucketModel reset(long nowNanos) {
    return give(limit.capacity(), nowNanos);
  }

  BucketModel reconfigure(Limit next, long nowNanos) {
    if (next.equals(limit)) {
      return this;
    }
    BigInteger converted = floorDiv(levelAt(nowNanos).multiply(token(next)), token(limit));
    BigInteger most = big(next.capacity()).multiply(token(next));
    return new BucketModel(next, converted.min(most), nowNanos);
  }

  long available(long nowNanos) {
    return levelAt(nowNanos).max(BigInteger.ZERO).divide(token(limit)).longValueExact();
  }

  private BigInteger levelAt(long nowNanos) {
    BigInteger minted = big(steps(nowNanos) - steps(atNanos)).multiply(mintedPerStep());
    return level.add(minted).min(capacity());
  }

  private BigInteger capacity() {
    return cost(limit.capacity());
  }

  private BigInteger cost(long tokens) {
    return big(tokens).multiply(token(limit));
  }

  private long steps(long nowNanos) {
    return limit instanceof Limit.Strict strict ? nowNanos / strict.period().toNanos() : nowNanos;
  }

  private BigInteger mintedPerStep() {
    if (limit instanceof Limit.Balanced balanced) {
      return big(balanced.refillTokens()).divide(commonPart(balanced));
    }
    return limit instanceof Limit.Strict ? big(limit.capacity()) : BigInteger.ZERO;
  }

  /** Units in a token. */
  private static BigInteger token(Limit limit) {
    return limit instanceof Limit.Balanced balanced
        ? big(balanced.refillPeriod().toNanos()).divide(commonPart(balanced))
        : BigInteger.ONE;
  }

  private static BigInteger commonPart(Limit.Balanced limit) {
    return big(limit.refillTokens()).gcd(big(limit.refillPeriod().toNanos()));
  }

  private static BigInteger floorDiv(BigInteger a, BigInteger positive) {
    BigInteger[] quotient = a.divideAndRemainder(positive);
    return quotient[1].signum() < 0 ? quotient[0].subtract(BigInteger.ONE) : quotient[0];
  }

  private static BigInteger big(long value) {
    return BigInteger.valueOf(value);
  }
}
