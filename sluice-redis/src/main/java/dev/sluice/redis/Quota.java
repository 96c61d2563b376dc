package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.LimitUnits;

/** A limit as the scripts are told it. */
final class Quota {
  /** How many {@link #writeTo} writes. */
  static final int ARGUMENTS = 5;

  private final Limit limit;
  private final LimitUnits units;
  private final String[] arguments;

  private Quota(Limit limit, LimitUnits units) {
    this.limit = limit;
    this.units = units;
    String capacity = Long.toString(units.capacityUnits());
    String unit = Long.toString(units.unitsPerToken());
    String mint = Long.toString(units.unitsPerStep());
    String step = Long.toString(units.stepTicks());
    String params = String.join(":", capacity, unit, mint, step);
    arguments = new String[] {params, capacity, unit, mint, step};
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

  /** Writes params, capacity, unit, mint and step to {@code arguments}; where to go on. */
  int writeTo(String[] into, int at) {
    System.arraycopy(arguments, 0, into, at, arguments.length);
    return at + arguments.length;
  }

  /** The burst, fractions included. */
  double burst() {
    return limit instanceof Limit.Rate rate ? rate.burst() : limit.capacity();
  }
}
