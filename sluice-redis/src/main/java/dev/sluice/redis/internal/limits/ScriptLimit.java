package dev.sluice.redis.internal.limits;

import dev.sluice.Limit;
import dev.sluice.internal.bucket.LimitUnits;

/** A limit as the scripts are told it. */
public final class ScriptLimit {
  private final Limit limit;
  private final LimitUnits units;
  private final String params;

  private ScriptLimit(Limit limit, LimitUnits units) {
    this.limit = limit;
    this.units = units;
    this.params =
        "%d:%d:%d:%d"
            .formatted(
                units.capacityUnits(),
                units.unitsPerToken(),
                units.unitsPerStep(),
                units.stepTicks());
  }

  /**
   * The quota of a limit.
   *
   * @throws IllegalArgumentException if no exact units fit the limit
   */
  public static ScriptLimit of(Limit limit) {
    return new ScriptLimit(limit, LimitUnits.inMicros(limit));
  }

  public Limit limit() {
    return limit;
  }

  public LimitUnits units() {
    return units;
  }

  /** Capacity, unit, accrual and step. */
  public String params() {
    return params;
  }

  /** Whether the scripts are told the same. */
  boolean isSame(ScriptLimit other) {
    return params.equals(other.params);
  }

  /** The burst, fractions included. */
  double burst() {
    return limit instanceof Limit.Rate rate ? rate.burst() : limit.capacity();
  }
}
