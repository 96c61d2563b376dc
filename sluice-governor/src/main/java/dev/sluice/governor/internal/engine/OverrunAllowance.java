package dev.sluice.governor.internal.engine;

import dev.sluice.governor.spi.ModelLimits;

/**
 * Limits how much reported usage may charge beyond reservations. The governor cannot check what
 * callers report: without a limit, reservations of one token each, settled with large figures,
 * would keep the model in debt for all tenants. Not thread-safe.
 */
public final class OverrunAllowance {
  /*
   * Invariants, of reported usage that exceeds its reservation:
   *
   * 1. One settlement charges at most max(reserved, most), where `most` is what one call of the
   *    model can use.
   * 2. Up to twice the reservation is always charged: a small reservation can charge little. Usage
   *    beyond that comes out of the allowance, a meter of the model's burst and rate that is
   *    charged four tokens for each token and may be overdrawn by one settlement. So in any w
   *    seconds at most `most` + (burst + rate * w) / 4 tokens are charged beyond twice the
   *    reservations, by all tenants together.
   *
   * The function `chargeable` of buckets.lua is the same rule for budgets in Redis.
   */
  private static final int WITHOUT_ALLOWANCE = 2;
  private static final int COST = 4;

  private final DebtBucket bucket;

  OverrunAllowance(ModelLimits limits, long now) {
    this.bucket = DebtBucket.full(limits.tokens(), now);
  }

  /** Returns the meter, which accrues and is saved over a restart as other meters are. */
  DebtBucket bucket() {
    return bucket;
  }

  /**
   * Returns how much of a reported usage is to be charged, and takes it from the allowance.
   *
   * @param most what one call can use
   */
  public long charge(long reserved, long reported, long most) {
    long charged = Math.min(reported, Math.max(reserved, most));
    if (charged > WITHOUT_ALLOWANCE * reserved && bucket.available() <= 0) {
      return WITHOUT_ALLOWANCE * reserved;
    }
    spend(reserved, charged);
    return charged;
  }

  /** Charges the allowance for a settlement unconditionally; the balance may go negative. */
  void spend(long reserved, long charged) {
    bucket.take(COST * Math.max(0, charged - WITHOUT_ALLOWANCE * reserved));
  }
}
