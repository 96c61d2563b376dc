package dev.sluice;

import java.math.BigInteger;

/**
 * A token bucket written the plain way, in unbounded integers, to hold the real one against.
 *
 * <p>Keeps a level and the time it was last brought up to date, as the textbook does; shares no
 * code and no representation with the bucket. Single-threaded; time must not run backwards.
 */
final class BucketModel {
  private final Limit limit;
  private final long originNanos;

  /** Tokens in parts of a period: one token is {@link #one}. */
  private BigInteger level;

  private BigInteger updated = BigInteger.ZERO;

  BucketModel(Limit limit, long initialTokens, long originNanos) {
    this.limit = limit;
    this.originNanos = originNanos;
    this.level = big(initialTokens).multiply(one());
  }

  boolean tryAcquire(long tokens, long nowNanos) {
    update(nowNanos);
    BigInteger cost = big(tokens).multiply(one());
    if (tokens == 0) {
      return true;
    }
    if (level.compareTo(cost) < 0) {
      return false;
    }
    level = level.subtract(cost);
    return true;
  }

  void replenish(long tokens, long nowNanos) {
    update(nowNanos);
    level = level.add(big(tokens).multiply(one())).min(capacity());
  }

  long available(long nowNanos) {
    update(nowNanos);
    return level.divide(one()).longValueExact();
  }

  /** Nanoseconds until {@code tokens} are there, at most the capacity; −1 if they never will be. */
  BigInteger waitNanos(long tokens, long nowNanos) {
    update(nowNanos);
    BigInteger missing = big(tokens).multiply(one()).subtract(level);
    if (missing.signum() <= 0) {
      return BigInteger.ZERO;
    }
    if (limit instanceof Limit.Balanced balanced) {
      return ceilDiv(missing, big(balanced.refillTokens()));
    }
    if (limit instanceof Limit.Strict) {
      return periodNanos().subtract(elapsed(nowNanos).mod(periodNanos()));
    }
    return BigInteger.ONE.negate();
  }

  private void update(long nowNanos) {
    BigInteger now = elapsed(nowNanos);
    if (limit instanceof Limit.Balanced balanced) {
      BigInteger minted = now.subtract(updated).multiply(big(balanced.refillTokens()));
      level = level.add(minted).min(capacity());
    } else if (limit instanceof Limit.Strict
        && now.divide(periodNanos()).compareTo(updated.divide(periodNanos())) > 0) {
      level = capacity();
    }
    updated = now;
  }

  private BigInteger one() {
    return limit instanceof Limit.Balanced ? periodNanos() : BigInteger.ONE;
  }

  private BigInteger capacity() {
    return big(limit.capacity()).multiply(one());
  }

  private BigInteger periodNanos() {
    return big(
        limit instanceof Limit.Balanced balanced
            ? balanced.refillPeriod().toNanos()
            : ((Limit.Strict) limit).period().toNanos());
  }

  private BigInteger elapsed(long nowNanos) {
    return big(nowNanos - originNanos);
  }

  private static BigInteger ceilDiv(BigInteger a, BigInteger b) {
    return a.add(b).subtract(BigInteger.ONE).divide(b);
  }

  private static BigInteger big(long value) {
    return BigInteger.valueOf(value);
  }
}
