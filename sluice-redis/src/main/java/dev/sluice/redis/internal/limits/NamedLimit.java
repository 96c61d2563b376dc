package dev.sluice.redis.internal.limits;

import dev.sluice.Limit;

/** Converts the limits that a name can have: balanced, fractional, and those that deny all. */
final class NamedLimit {
  private static final double NANOS_PER_SECOND = 1e9;

  private NamedLimit() {}

  /** Returns whether a name can have the limit. */
  static boolean isAllowed(Limit limit) {
    return !(limit instanceof Limit.Strict || limit instanceof Limit.Manual);
  }

  /**
   * Checks the limit of a name.
   *
   * @throws IllegalArgumentException if it is {@code Strict} or {@code Manual}
   */
  static Limit require(Limit limit) {
    if (!isAllowed(limit)) {
      throw new IllegalArgumentException(
          "a named limit must be Balanced, Rate or DenyAll, but was "
              + limit
              + "; use SharedLimits.bucket");
    }
    return limit;
  }

  static double perSecond(Limit limit) {
    if (limit instanceof Limit.Rate rate) {
      return rate.perSecond();
    }
    return limit instanceof Limit.Balanced balanced
        ? balanced.refillTokens() * NANOS_PER_SECOND / balanced.refillPeriod().toNanos()
        : 0;
  }

  static double burst(Limit limit) {
    return limit instanceof Limit.Rate rate ? rate.burst() : limit.capacity();
  }
}
