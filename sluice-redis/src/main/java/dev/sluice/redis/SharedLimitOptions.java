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
public record SharedLimitOptions(
    @Nullable OutageMode outage, @Nullable TokenBlockConfig lease, boolean acrossSlots) {
  private static final SharedLimitOptions DEFAULTS = new SharedLimitOptions(null, null, false);

  /**
   * Exact, with the outage policy of its {@link SharedLimits}.
   *
   * @return the options
   */
  public static SharedLimitOptions defaults() {
    return DEFAULTS;
  }

  /**
   * The same, with another policy.
   *
   * @param policy what to do while Redis does not answer
   * @return the options
   */
  public SharedLimitOptions onOutage(OutageMode policy) {
    return new SharedLimitOptions(Objects.requireNonNull(policy, "policy"), lease, acrossSlots);
  }

  /**
   * The same, with the usual leases.
   *
   * @return the options
   */
  public SharedLimitOptions leased() {
    return leased(TokenBlockConfig.DEFAULTS);
  }

  /**
   * The same, with leases.
   *
   * @param with how tokens are taken in advance
   * @return the options
   */
  public SharedLimitOptions leased(TokenBlockConfig with) {
    return new SharedLimitOptions(outage, Objects.requireNonNull(with, "with"), acrossSlots);
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
  public SharedLimitOptions reserveAcrossSlots() {
    return new SharedLimitOptions(outage, lease, true);
  }
}
