package dev.sluice.server.http.routes;

import dev.sluice.LimitStats;
import dev.sluice.broker.BrokerView;
import dev.sluice.broker.FairnessKeyPage;
import dev.sluice.broker.QueueConfig;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** JSON of fairness keys and throttle keys. */
public final class SchedulingStatsJson {
  private SchedulingStatsJson() {}

  /** Returns the order by its lower-case name. */
  static FairnessKeyPage.Order order(String name) {
    return Arrays.stream(FairnessKeyPage.Order.values())
        .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                ApiException.invalid(
                    "order must be one of depth, wait, delivered, but was " + name));
  }

  private static @Nullable Long millis(Optional<Duration> time) {
    return time.map(Duration::toMillis).orElse(null);
  }

  /** The first fairness keys of a queue, and sums over all. */
  public record FairnessKeyPageJson(
      long active,
      long waiting,
      long readyWeight,
      int maxInFlightPerKey,
      long matching,
      List<SchedulingStatsJson.FairnessKeyJson> fairnessKeys) {
    static SchedulingStatsJson.FairnessKeyPageJson of(FairnessKeyPage found, QueueConfig config) {
      return new SchedulingStatsJson.FairnessKeyPageJson(
          found.active(),
          found.waiting(),
          found.readyWeight(),
          config.maxInFlightPerKey(),
          found.matching(),
          found.rows().stream().map(SchedulingStatsJson.FairnessKeyJson::of).toList());
    }
  }

  /** The state of a fairness key. */
  public record FairnessKeyJson(
      String fairnessKey,
      long depth,
      long pending,
      long inFlight,
      long delayed,
      int weight,
      long delivered,
      long waitedMs,
      List<SchedulingStatsJson.ThrottledJson> throttled) {
    static SchedulingStatsJson.FairnessKeyJson of(FairnessKeyPage.Row key) {
      return new SchedulingStatsJson.FairnessKeyJson(
          key.fairnessKey(),
          key.depth(),
          key.pending(),
          key.inFlight(),
          key.delayed(),
          key.weight(),
          key.delivered(),
          key.waited().toMillis(),
          key.throttled().stream().map(SchedulingStatsJson.ThrottledJson::of).toList());
    }
  }

  /** Messages that wait for a throttle key. */
  public record ThrottledJson(
      String throttleKey, int messages, long weight, @Nullable Long nextGrantInMs) {
    static SchedulingStatsJson.ThrottledJson of(FairnessKeyPage.Throttled throttled) {
      return new SchedulingStatsJson.ThrottledJson(
          throttled.throttleKey(),
          throttled.messages(),
          throttled.weight(),
          millis(throttled.nextGrantIn()));
    }
  }

  /** The state of a throttle key. */
  public record QueueLimitStatsJson(
      String key,
      double ratePerSecond,
      double burst,
      double level,
      long taken,
      int waiters,
      @Nullable Long nextGrantInMs,
      @Nullable Long impossibleCost) {
    static SchedulingStatsJson.QueueLimitStatsJson of(LimitStats stats) {
      return new SchedulingStatsJson.QueueLimitStatsJson(
          stats.name(),
          LimitOperations.Rate.of(stats.limit()).perSecond(),
          LimitOperations.Rate.of(stats.limit()).burst(),
          stats.level(),
          stats.taken(),
          stats.waiters(),
          millis(stats.nextGrantIn()),
          stats.impossibleCost().isEmpty() ? null : stats.impossibleCost().getAsLong());
    }
  }

  /** The first throttle keys: those for which most wait. */
  public record LimitsSnapshotJson(
      long atMs, int total, List<SchedulingStatsJson.QueueLimitStatsJson> throttles) {
    static SchedulingStatsJson.LimitsSnapshotJson of(BrokerView.LimitsSnapshot found, int limit) {
      return new SchedulingStatsJson.LimitsSnapshotJson(
          found.at().toEpochMilli(),
          found.limits().size(),
          found.limits().stream()
              .sorted(Comparator.comparingInt(each -> -each.waiters()))
              .limit(limit)
              .map(SchedulingStatsJson.QueueLimitStatsJson::of)
              .toList());
    }
  }

  /** A fairness key that waits for a throttle key. */
  public record Waiter(
      String queue, String fairnessKey, int messages, long tokens, long nextTokens) {
    static Waiter of(LimitStats.Waiter waiter) {
      return new Waiter(
          waiter.queue(),
          waiter.fairnessKey(),
          waiter.items(),
          waiter.tokens(),
          waiter.nextTokens());
    }
  }
}
