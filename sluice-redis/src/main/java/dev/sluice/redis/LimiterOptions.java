package dev.sluice.redis;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How one limiter behaves.
 *
 * @param outage what it does while Redis does not answer; null for what its {@link SharedLimits}
 *     says
 * @param lease how it takes tokens in advance; null if every decision is made in Redis
 * @param acrossSlots whether keys of different slots of a cluster are reserved one by one, and
 *     refunded if one refuses; without it such a request is an error
 * @since 0.1
 */
public record LimiterOptions(
    @Nullable OutagePolicy outage, @Nullable Lease lease, boolean acrossSlots) {
  private static final LimiterOptions DEFAULTS = new LimiterOptions(null, null, false);

  /**
   * Exact, with the outage policy of its {@link SharedLimits}.
   *
   * @return the options
   */
  public static LimiterOptions defaults() {
    return DEFAULTS;
  }

  /**
   * The same, with another policy.
   *
   * @param policy what to do while Redis does not answer
   * @return the options
   */
  public LimiterOptions onOutage(OutagePolicy policy) {
    return new LimiterOptions(Objects.requireNonNull(policy, "policy"), lease, acrossSlots);
  }

  /**
   * The same, with the usual leases.
   *
   * @return the options
   */
  public LimiterOptions leased() {
    return leased(Lease.DEFAULTS);
  }

  /**
   * The same, with leases.
   *
   * @param with how tokens are taken in advance
   * @return the options
   */
  public LimiterOptions leased(Lease with) {
    return new LimiterOptions(outage, Objects.requireNonNull(with, "with"), acrossSlots);
  }

  /**
   * The same, for keys of different slots of a cluster too.
   *
   * <p>Such a request is not atomic: each slot is asked in turn, and if one refuses, what the
   * others gave is refunded. Until then others may be denied tokens that come back; more than the
   * limit is never granted, but a refund whose bucket has refilled meanwhile is not window-safe (as
   * {@link dev.sluice.TokenBucket#refund} says).
   *
   * @return the options
   */
  public LimiterOptions reserveAcrossSlots() {
    return new LimiterOptions(outage, lease, true);
  }
}
