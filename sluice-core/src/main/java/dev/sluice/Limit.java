package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requireNonNegative;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import java.time.Duration;
import java.util.Objects;

/**
 * Defines how many tokens a bucket holds and how they return.
 *
 * <p>A limit is an immutable value. {@link Balanced} is the usual one, {@link Rate} the same in
 * fractions; {@link Strict} refills in whole periods, {@link Manual} only by hand, {@link DenyAll}
 * never.
 *
 * @since 0.1
 */
public sealed interface Limit {

  /**
   * The largest capacity a bucket can have: every smaller count is exact in a {@code double} too.
   */
  long MAX_CAPACITY = 1L << 53;

  /** The longest refill period, about 146 years. */
  Duration MAX_PERIOD = Duration.ofNanos(1L << 62);

  /**
   * The most tokens the bucket holds, and so the largest burst.
   *
   * @return zero for {@link DenyAll} and for a {@link Rate} with a burst below 1, else a positive
   *     number
   */
  long capacity();

  /**
   * Tokens accrue evenly: {@code refillTokens} per {@code refillPeriod}, up to the capacity.
   *
   * <p>Time spent full is not saved up, nor is the fraction of a token left over when the capacity
   * is reached. In every window of length w at most {@code capacity + refillTokens · w /
   * refillPeriod} tokens are granted.
   *
   * @param capacity the most tokens held, at least 1
   * @param refillTokens tokens that accrue in one period, at least 1
   * @param refillPeriod the period, positive
   */
  record Balanced(long capacity, long refillTokens, Duration refillPeriod) implements Limit {
    public Balanced {
      requireCapacity(capacity);
      requirePositive("refillTokens", refillTokens);
      requirePeriod("refillPeriod", refillPeriod);
    }
  }

  /**
   * Tokens accrue evenly like {@link Balanced}, with fractions: half a token a second, a burst of
   * two and a half.
   *
   * <p>The decimal number that a {@code double} prints is used exactly; it is converted once,
   * exactly or rounded against the caller by at most a millionth.
   *
   * @param perSecond tokens that accrue in one second; 0 means that none ever do
   * @param burst the most tokens held; less than 1 means that none is ever granted
   */
  record Rate(double perSecond, double burst) implements Limit {
    public Rate {
      requireFraction("perSecond", perSecond, Double.MAX_VALUE);
      requireFraction("burst", burst, MAX_CAPACITY);
    }

    /** Whole tokens that fit. */
    @Override
    public long capacity() {
      return (long) burst;
    }
  }

  /**
   * Tokens come back all at once at the boundaries of a fixed grid that starts with the bucket.
   *
   * <p>Nothing is minted before a boundary and unused tokens do not carry over it, so at most
   * {@code capacity} are granted in one period and {@code 2 · capacity} in any window as long as
   * one.
   *
   * @param capacity tokens per period, at least 1
   * @param period length of a period, positive
   */
  record Strict(long capacity, Duration period) implements Limit {
    public Strict {
      requireCapacity(capacity);
      requirePeriod("period", period);
    }
  }

  /**
   * Tokens come back only by {@link TokenBucket#replenish}.
   *
   * @param capacity the most tokens held, at least 1
   */
  record Manual(long capacity) implements Limit {
    public Manual {
      requireCapacity(capacity);
    }
  }

  /** Never grants; the meaning of a rate of zero. */
  record DenyAll() implements Limit {
    @Override
    public long capacity() {
      return 0;
    }
  }

  /**
   * Returns a limit of {@code tokens} a second, with a burst of the same size.
   *
   * @param tokens tokens per second; 0 denies everything
   * @return the limit
   * @throws IllegalArgumentException if {@code tokens} is negative or above {@link #MAX_CAPACITY}
   */
  static Limit perSecond(long tokens) {
    return per(tokens, Duration.ofSeconds(1));
  }

  /**
   * Returns a limit of {@code tokens} a minute, with a burst of the same size.
   *
   * @param tokens tokens per minute; 0 denies everything
   * @return the limit
   * @throws IllegalArgumentException if {@code tokens} is negative or above {@link #MAX_CAPACITY}
   */
  static Limit perMinute(long tokens) {
    return per(tokens, Duration.ofMinutes(1));
  }

  /**
   * Returns a limit of {@code tokens} per period, with a burst of the same size.
   *
   * @param tokens tokens per period; 0 denies everything
   * @param period the period, positive
   * @return the limit
   * @throws IllegalArgumentException if an argument is negative, too large, or the period is zero
   */
  static Limit per(long tokens, Duration period) {
    requireNonNegative("tokens", tokens);
    requirePeriod("period", period);
    return tokens == 0 ? new DenyAll() : new Balanced(tokens, tokens, period);
  }

  /**
   * Returns a limit of {@code tokens} a second with a burst of its own.
   *
   * @param tokens tokens per second, at least 1
   * @param burst the most tokens held, at least 1
   * @return the limit
   * @throws IllegalArgumentException if an argument is out of range
   */
  static Limit perSecond(long tokens, long burst) {
    return per(tokens, Duration.ofSeconds(1), burst);
  }

  /**
   * Returns a limit of {@code tokens} a minute with a burst of its own.
   *
   * @param tokens tokens per minute, at least 1
   * @param burst the most tokens held, at least 1
   * @return the limit
   * @throws IllegalArgumentException if an argument is out of range
   */
  static Limit perMinute(long tokens, long burst) {
    return per(tokens, Duration.ofMinutes(1), burst);
  }

  /**
   * Returns a limit of {@code tokens} per period with a burst of its own.
   *
   * @param tokens tokens per period, at least 1
   * @param period the period, positive
   * @param burst the most tokens held, at least 1
   * @return the limit
   * @throws IllegalArgumentException if an argument is out of range
   */
  static Limit per(long tokens, Duration period, long burst) {
    return new Balanced(burst, tokens, period);
  }

  /**
   * Returns a limit that may have fractions; see {@link Rate}.
   *
   * @param perSecond tokens that accrue in one second; 0 means that none ever do
   * @param burst the most tokens held; less than 1 means that none is ever granted
   * @return the limit
   * @throws IllegalArgumentException if a number is negative, infinite or NaN
   */
  static Limit ofRate(double perSecond, double burst) {
    return new Rate(perSecond, burst);
  }

  /**
   * Returns a limit whose tokens return all at once at the end of each period; see {@link Strict}.
   *
   * @param capacity tokens per period, at least 1
   * @param period length of a period, positive
   * @return the limit
   * @throws IllegalArgumentException if an argument is out of range
   */
  static Limit strict(long capacity, Duration period) {
    return new Strict(capacity, period);
  }

  /**
   * Returns a limit whose tokens return only by {@link TokenBucket#replenish}; see {@link Manual}.
   *
   * @param capacity the most tokens held, at least 1
   * @return the limit
   * @throws IllegalArgumentException if {@code capacity} is out of range
   */
  static Limit manual(long capacity) {
    return new Manual(capacity);
  }

  /**
   * Returns the limit that grants nothing.
   *
   * @return the limit
   */
  static Limit denyAll() {
    return new DenyAll();
  }

  private static void requireCapacity(long capacity) {
    requirePositive("capacity", capacity);
    requireAtMost("capacity", capacity, MAX_CAPACITY);
  }

  private static void requireFraction(String name, double value, double most) {
    if (!(value >= 0 && value <= most)) {
      throw new IllegalArgumentException(
          name + " must be a number from 0 to " + most + ", but was " + value);
    }
  }

  private static void requirePeriod(String name, Duration period) {
    Objects.requireNonNull(period, name);
    if (period.isZero() || period.isNegative() || period.compareTo(MAX_PERIOD) > 0) {
      throw new IllegalArgumentException(
          name + " must be positive and at most " + MAX_PERIOD + ", but was " + period);
    }
  }
}
