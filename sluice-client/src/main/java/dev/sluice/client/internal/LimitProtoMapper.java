package dev.sluice.client.internal;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.client.SluiceClientException;
import dev.sluice.proto.v1.ListLimitsResponse;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** Maps limits and decisions to the messages of {@code sluice.v1}. */
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

  /**
   * Returns the decision of a message.
   *
   * @throws SluiceClientException if its outcome is unknown to this version of the client
   */
  static Decision decision(dev.sluice.proto.v1.Decision wire) {
    return switch (wire.getOutcome()) {
      case GRANTED -> new Decision.Granted(wire.getRemaining());
      case DENIED -> new Decision.Denied(wire.getLimitName(), wire.getRetryAfterNs());
      case DEPLETED -> new Decision.Depleted(wire.getLimitName(), wire.getMissing());
      case IMPOSSIBLE -> new Decision.Impossible(wire.getLimitName(), wire.getCapacity());
      case OUTCOME_UNSPECIFIED, UNRECOGNIZED ->
          throw new SluiceClientException(
              SluiceClientException.Code.INTERNAL,
              "the server returned an unknown outcome: " + wire.getOutcomeValue());
    };
  }
}
