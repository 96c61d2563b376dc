package dev.sluice.internal.bucket;

import java.math.BigInteger;

/** The arithmetic of a token bucket: pure functions over whole units. */
public final class BucketMath {
  /*
   * State. A bucket is one number, the instant F ("full-at", in units since an epoch) at which it
   * will be full again. With N = now in the same units, its debt is max(0, F - N) and its level
   * capacity - debt. Taking c units moves F to max(F, N) + c; that is allowed while the debt stays
   * within the capacity. This is GCRA [1], which is a token bucket that mints before it consumes and
   * forgets the time it spends full.
   *
   * Why it cannot over-grant. F never depends on the order in which two threads read the clock: a
   * stale N only makes the debt look larger. Let G be the units granted at instants in [a, b]. The
   * first of those grants left F >= a + c, each further one added its own cost, and the last was
   * allowed only with F <= b + capacity; hence G <= capacity + (b - a).
   *
   * Range. N stays below HORIZON_UNITS (then the epoch moves), debt at or below MAX_DEBT_UNITS, so F
   * fits 62 bits and no sum of two of these overflows a long.
   *
   * [1] ITU-T I.371, annex A: the Generic Cell Rate Algorithm.
   */

  /** The end of an epoch; for a rate that divides 1e9 a second, 36 years after its start. */
  static final long HORIZON_UNITS = 1L << 60;

  /** The most that can be owed: one token per 100 years must fit, which 2^61 would not hold. */
  public static final long MAX_DEBT_UNITS = 3 * HORIZON_UNITS - 1;

  private BucketMath() {}

  /**
   * Takes {@code cost} units: the new full-at, or {@code ~fullAt} if the bucket holds too little.
   */
  public static long take(long fullAt, long now, long cost, long capacity) {
    long from = Math.max(fullAt, now);
    return from - now <= capacity - cost ? from + cost : ~fullAt;
  }

  /** Adds {@code units}, never above full; {@code now} may lie before the epoch, full-at never. */
  static long give(long fullAt, long now, long units, long capacity) {
    return fullAt <= now ? fullAt : Math.max(Math.max(0, now), fullAt - units);
  }

  public static long level(long fullAt, long now, long capacity) {
    return Math.max(0, capacity - Math.max(0, fullAt - now));
  }

  static long ceilDiv(long dividend, long positiveDivisor) {
    return -Math.floorDiv(-dividend, positiveDivisor);
  }

  /** {@code a · b / c}, rounded down, at most {@code most}. */
  static long scaleDown(long a, long b, long c, long most) {
    return saturate(BigInteger.valueOf(a).multiply(BigInteger.valueOf(b)).divide(big(c)), most);
  }

  /** {@code a · b / c}, rounded up, at most {@code most}. */
  static long scaleUp(long a, long b, long c, long most) {
    BigInteger product = BigInteger.valueOf(a).multiply(big(b));
    return saturate(product.add(big(c - 1)).divide(big(c)), most);
  }

  /** {@code a · b} for non-negative factors, at most {@code most}. */
  static long multiplySaturated(long a, long b, long most) {
    return b != 0 && a > most / b ? most : a * b;
  }

  private static long saturate(BigInteger value, long most) {
    return value.compareTo(big(most)) > 0 ? most : value.longValueExact();
  }

  private static BigInteger big(long value) {
    return BigInteger.valueOf(value);
  }
}
