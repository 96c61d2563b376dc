package dev.sluice.governor.spi;

import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.Limit;
import dev.sluice.governor.TokenRequest;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Checks the limits and shares of a budget, and converts them to the form that stores keep. */
public final class BudgetLimits {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private BudgetLimits() {}

  /**
   * Returns a limit on tokens with a period of one minute.
   *
   * @throws IllegalArgumentException if the limit is not balanced, is out of range, or does not
   *     accrue a whole number of tokens a minute
   */
  public static Limit.Balanced tokens(String name, Limit limit) {
    Limit.Balanced given = balanced(name, limit);
    requireAtMost("capacity of " + name, given.capacity(), TokenRequest.MAX_TOKENS);
    BigInteger[] perMinute =
        BigInteger.valueOf(given.refillTokens())
            .multiply(BigInteger.valueOf(MINUTE.toNanos()))
            .divideAndRemainder(BigInteger.valueOf(given.refillPeriod().toNanos()));
    if (perMinute[1].signum() != 0) {
      throw new IllegalArgumentException(
          "%s must accrue a whole number a minute, but was %s".formatted(name, limit));
    }
    long refill = perMinute[0].min(BigInteger.valueOf(Long.MAX_VALUE)).longValue();
    requireAtMost(name + " that accrue in a minute", refill, TokenRequest.MAX_TOKENS);
    return new Limit.Balanced(given.capacity(), refill, MINUTE);
  }

  /**
   * Returns limits on the number of requests, by rising period.
   *
   * @throws IllegalArgumentException if a limit is neither per second nor per minute, or if two
   *     have the same period
   */
  public static List<Limit.Balanced> requests(List<Limit.Balanced> limits) {
    Set<Duration> periods = new HashSet<>();
    for (Limit.Balanced each : limits) {
      Duration period = each.refillPeriod();
      if (!period.equals(SECOND) && !period.equals(MINUTE)) {
        throw new IllegalArgumentException(
            "requests must be per second or per minute, but was " + each);
      }
      if (!periods.add(period)) {
        throw new IllegalArgumentException(
            "requests must have one limit per second and one per minute at most, but was "
                + limits);
      }
      requireAtMost("capacity of requests", each.capacity(), TokenRequest.MAX_TOKENS);
      requireAtMost("requests that accrue", each.refillTokens(), TokenRequest.MAX_TOKENS);
    }
    return limits.stream().sorted(Comparator.comparing(Limit.Balanced::refillPeriod)).toList();
  }

  /**
   * Returns a limit that refills evenly.
   *
   * @throws IllegalArgumentException if the limit is of another kind
   */
  public static Limit.Balanced balanced(String name, Limit limit) {
    if (limit instanceof Limit.Balanced balanced) {
      return balanced;
    }
    throw new IllegalArgumentException(name + " must be a Balanced limit, but was " + limit);
  }

  /**
   * Checks the shares of priority classes: each is above 0 and at most 1, and so is the sum of the
   * minimum shares.
   *
   * @throws IllegalArgumentException if one is out of range, or a minimum share names no class
   */
  public static void requireShares(
      Map<String, Double> priorityClasses, Map<String, Double> minimumShares) {
    priorityClasses.forEach((name, share) -> requireShare("the share of class " + name, share));
    BigDecimal total = BigDecimal.ZERO;
    for (Map.Entry<String, Double> each : minimumShares.entrySet()) {
      if (!priorityClasses.containsKey(each.getKey())) {
        throw new IllegalArgumentException(
            "minimum_shares must name one of the classes %s, but was %s"
                .formatted(priorityClasses.keySet(), each.getKey()));
      }
      requireShare("the minimum share of class " + each.getKey(), each.getValue());
      total = total.add(BigDecimal.valueOf(each.getValue()));
    }
    if (total.compareTo(BigDecimal.ONE) > 0) {
      throw new IllegalArgumentException(
          "minimum_shares must be at most 1 together, but was " + total);
    }
  }

  private static void requireShare(String name, double share) {
    // Also false for NaN.
    if (!(share > 0 && share <= 1)) {
      throw new IllegalArgumentException(name + " must be above 0 and at most 1, but was " + share);
    }
  }

  /**
   * Returns the whole tokens of a share, at least 1. The share is the decimal that was written:
   * 0.29 of 100 is 29, and not the 28.999999999999996 of binary fractions.
   */
  public static long part(double share, long tokens) {
    requirePositive("tokens", tokens);
    return Math.max(1, BigDecimal.valueOf(share).multiply(BigDecimal.valueOf(tokens)).longValue());
  }

  /** Returns a share of a limit, of at least 1 token. */
  static Limit.Balanced part(double share, Limit.Balanced whole) {
    return new Limit.Balanced(
        part(share, whole.capacity()), part(share, whole.refillTokens()), whole.refillPeriod());
  }
}
