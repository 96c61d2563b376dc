package dev.sluice.testkit.load;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Records grants and their times and checks them against the promise of a limit: no window,
 * wherever it starts and ends, has more than the capacity and what the rate adds in its length. Any
 * unit of time will do, if the log and the period share it. Safe for many threads.
 *
 * @since 0.1
 */
public final class GrantLog {
  private final List<Grant> grants = new ArrayList<>();

  private record Grant(long time, long tokens) {}

  /** An empty log. */
  public GrantLog() {}

  /** Notes a grant; in any order. */
  public synchronized void record(long time, long tokens) {
    if (tokens < 0) {
      throw new IllegalArgumentException("tokens must not be negative, but was " + tokens);
    }
    grants.add(new Grant(time, tokens));
  }

  /** Notes all that another log has. */
  public void recordAll(GrantLog other) {
    List<Grant> more = other.copy();
    synchronized (this) {
      grants.addAll(more);
    }
  }

  /** How many grants were noted. */
  public synchronized int size() {
    return grants.size();
  }

  /** The tokens of all grants. */
  public long total() {
    return copy().stream().mapToLong(Grant::tokens).reduce(0, Math::addExact);
  }

  /**
   * By how many tokens the worst window breaks the promise, rounded up: it is kept exactly if this
   * is 0 or less. With a negative answer so many tokens were never used.
   *
   * <p>For the worst window that ends with a grant, beyond the rate: it either starts with that
   * grant, or goes on from the worst that ends with the grant before. So one pass over the grants,
   * by time, sees all windows.
   *
   * @param tokensPerPeriod the rate
   * @param period in the unit of the recorded times
   */
  public long maxExcess(long capacity, long tokensPerPeriod, long period) {
    if (capacity < 0 || tokensPerPeriod < 0 || period <= 0) {
      throw new IllegalArgumentException(
          "capacity and rate must not be negative, the period must be positive: capacity=%d, tokensPerPeriod=%d, period=%d"
              .formatted(capacity, tokensPerPeriod, period));
    }
    BigInteger rate = BigInteger.valueOf(tokensPerPeriod);
    BigInteger perToken = BigInteger.valueOf(period);
    BigInteger level = BigInteger.ZERO;
    BigInteger highest = BigInteger.ZERO;
    List<Grant> byTime = byTime();
    long last = byTime.isEmpty() ? 0 : byTime.get(0).time();
    for (Grant grant : byTime) {
      BigInteger passed = BigInteger.valueOf(grant.time()).subtract(BigInteger.valueOf(last));
      BigInteger carried = level.subtract(passed.multiply(rate));
      BigInteger tokens = BigInteger.valueOf(grant.tokens()).multiply(perToken);
      level = carried.max(BigInteger.ZERO).add(tokens);
      highest = highest.max(level);
      last = grant.time();
    }
    return ceiling(highest, perToken).subtract(BigInteger.valueOf(capacity)).longValueExact();
  }

  private static BigInteger ceiling(BigInteger positive, BigInteger divisor) {
    return positive.add(divisor).subtract(BigInteger.ONE).divide(divisor);
  }

  private List<Grant> byTime() {
    List<Grant> sorted = copy();
    sorted.sort(Comparator.comparingLong(Grant::time));
    return sorted;
  }

  private synchronized List<Grant> copy() {
    return new ArrayList<>(grants);
  }
}
