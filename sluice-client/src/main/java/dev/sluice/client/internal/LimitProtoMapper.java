package dev.sluice.client.internal;

import dev.sluice.Limit;
import dev.sluice.proto.v1.ListLimitsResponse;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** Maps limits to the messages of {@code sluice.v1}, which have a rate and a burst. */
public final class LimitProtoMapper {
  private static final double SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private LimitProtoMapper() {}

  /**
   * Returns the message for a named limit.
   *
   * @throws IllegalArgumentException if the limit refills in whole periods or by hand
   */
  public static dev.sluice.proto.v1.Limit toWire(String name, Limit limit) {
    Limit.Rate rate = rate(limit);
    return dev.sluice.proto.v1.Limit.newBuilder()
        .setName(name)
        .setRatePerSecond(rate.perSecond())
        .setBurst(rate.burst())
        .build();
  }

  /** Returns the limits of a response by name. */
  public static SortedMap<String, Limit> limits(ListLimitsResponse response) {
    SortedMap<String, Limit> limits = new TreeMap<>();
    response
        .getLimitsList()
        .forEach(
            limit ->
                limits.put(
                    limit.getName(), new Limit.Rate(limit.getRatePerSecond(), limit.getBurst())));
    return Collections.unmodifiableSortedMap(limits);
  }

  /**
   * Returns {@code limit} as a rate and a burst.
   *
   * @throws IllegalArgumentException if the limit refills in whole periods or by hand
   */
  public static Limit.Rate rate(Limit limit) {
    if (limit instanceof Limit.Rate rate) {
      return rate;
    }
    if (limit instanceof Limit.Balanced balanced) {
      double perSecond = balanced.refillTokens() * SECOND_NANOS / balanced.refillPeriod().toNanos();
      return new Limit.Rate(perSecond, balanced.capacity());
    }
    if (limit instanceof Limit.DenyAll) {
      return new Limit.Rate(0, 0);
    }
    throw new IllegalArgumentException(
        "a named limit must refill evenly (Balanced, Rate) or deny everything, but was " + limit);
  }
}
