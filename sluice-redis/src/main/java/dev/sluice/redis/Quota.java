package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.LimitUnits;

/** A limit as the scripts are told it. */
final class Quota {
  private final Limit limit;
  private final LimitUnits units;
  private final String params;

  private Quota(Limit limit, LimitUnits units) {
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
  static Quota of(Limit limit) {
    return new Quota(limit, LimitUnits.inMicros(limit));
  }

  Limit limit() {
    return limit;
  }

  LimitUnits units() {
    return units;
  }

  /** Capacity, unit, mint and step. */
  String params() {
    return params;
  }

  /** Whether the scripts are told the same. */
  boolean isSame(Quota other) {
    return params.equals(other.params);
  }

  /** The burst, fractions included. */
  double burst() {
    return limit instanceof Limit.Rate rate ? rate.burst() : limit.capacity();
  }
}
