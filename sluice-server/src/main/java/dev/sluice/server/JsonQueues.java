package dev.sluice.server;

import dev.sluice.broker.Durability;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.QueueTotals;
import dev.sluice.server.QueueApi.Action;
import dev.sluice.server.QueueApi.Settlement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What is said of queues in JSON; a field that is left out has its default. */
final class JsonQueues {
  private JsonQueues() {}

  /** A queue to be made. */
  record NewQueue(@Nullable String name, @Nullable Config config) {}

  /** How a queue behaves. */
  record Config(
      @Nullable Long leaseMs,
      @Nullable Durability durability,
      @Nullable String onEnqueue,
      @Nullable String onFailure,
      @Nullable Integer maxAttempts,
      @Nullable Boolean strictOrder,
      @Nullable Long maxDepth,
      @Nullable Long maxDepthPerKey,
      @Nullable Integer maxInFlightPerKey,
      @Nullable Long timeToLiveMs,
      @Nullable Long dedupeWindowMs) {
    QueueConfig toConfig() {
      QueueConfig.Builder config = QueueConfig.builder();
      if (leaseMs != null) {
        config.leaseTimeout(Duration.ofMillis(leaseMs));
      }
      if (durability != null) {
        config.durability(durability);
      }
      return config
          .onEnqueue(onEnqueue)
          .onFailure(onFailure)
          .maxAttempts(maxAttempts == null ? 0 : maxAttempts)
          .strictOrder(strictOrder != null && strictOrder)
          .maxDepth(orZero(maxDepth))
          .maxDepthPerKey(orZero(maxDepthPerKey))
          .maxInFlightPerKey(maxInFlightPerKey == null ? 0 : maxInFlightPerKey)
          .timeToLive(Duration.ofMillis(orZero(timeToLiveMs)))
          .dedupeWindow(Duration.ofMillis(orZero(dedupeWindowMs)))
          .build();
    }

    static Config of(QueueConfig config) {
      return new Config(
          config.leaseTimeout().toMillis(),
          config.durability(),
          config.onEnqueue(),
          config.onFailure(),
          config.maxAttempts(),
          config.strictOrder(),
          config.maxDepth(),
          config.maxDepthPerKey(),
          config.maxInFlightPerKey(),
          config.timeToLive().toMillis(),
          config.dedupeWindow().toMillis());
    }
  }

  static long orZero(@Nullable Long value) {
    return value == null ? 0 : value;
  }

  /** A queue with all that is known of it. */
  record Queue(String name, Config config, Stats stats) {}

  /** How a queue stands. */
  record Stats(
      long depth,
      long inFlight,
      long delayed,
      int consumers,
      List<KeyStats> keys,
      QueueTotals totals) {
    static Stats of(QueueStats stats) {
      return new Stats(
          stats.depth(),
          stats.inFlight(),
          stats.delayed(),
          stats.consumers(),
          stats.keys().stream()
              .map(key -> new KeyStats(key.key(), key.pending(), key.weight(), key.deficit()))
              .toList(),
          stats.totals());
    }
  }

  /** How a fairness key stands. */
  record KeyStats(String key, long pending, int weight, long deficit) {}

  /** All queues. */
  record Summaries(List<Summary> queues) {
    static Summaries of(Map<String, QueueStats> queues) {
      return new Summaries(
          queues.entrySet().stream()
              .map(each -> Summary.of(each.getKey(), each.getValue()))
              .toList());
    }
  }

  /** How a queue stands, in short. */
  record Summary(
      String name, long depth, long inFlight, long delayed, int consumers, QueueTotals totals) {
    static Summary of(String name, QueueStats stats) {
      return new Summary(
          name,
          stats.depth(),
          stats.inFlight(),
          stats.delayed(),
          stats.consumers(),
          stats.totals());
    }
  }

  /** What to wait for. */
  record Receive(@Nullable Integer maxMessages, @Nullable Long waitMs) {}

  /** Leased messages to be settled. */
  record Settle(@Nullable List<@Nullable Verdict> settlements) {
    List<Settlement> toSettlements() {
      if (settlements == null) {
        throw ApiException.invalid("settlements must be there");
      }
      List<Settlement> all = new ArrayList<>(settlements.size());
      for (Verdict each : settlements) {
        int index = all.size();
        if (each == null) {
          throw ApiException.invalid("settlements[%d] must not be null".formatted(index));
        }
        all.add(each.toSettlement(index));
      }
      return all;
    }
  }

  /** What is to become of one leased message. */
  record Verdict(
      @Nullable String id,
      @Nullable String lease,
      @Nullable String action,
      @Nullable String error,
      @Nullable Long leaseMs) {
    Settlement toSettlement(int index) {
      if (id == null || action == null) {
        throw ApiException.invalid(
            "settlements[%d].%s must be there".formatted(index, id == null ? "id" : "action"));
      }
      return new Settlement(Wire.id(id), Wire.lease(lease == null ? "" : lease), toAction(index));
    }

    private Action toAction(int index) {
      String word = action == null ? "" : action;
      if ((error != null && !word.equals("nack")) || (leaseMs != null && !word.equals("extend"))) {
        throw ApiException.invalid(
            "settlements[%d]: error goes with nack, lease_ms with extend: %s"
                .formatted(index, word));
      }
      return switch (word) {
        case "ack" -> new Action.Ack();
        case "nack" -> new Action.Nack(error == null ? "" : error);
        case "extend" -> new Action.Extend(Duration.ofMillis(orZero(leaseMs)));
        case "release" -> new Action.Release();
        default ->
            throw ApiException.invalid(
                "settlements[%d].action must be one of ack, nack, extend, release: %s"
                    .formatted(index, word));
      };
    }
  }

  /** One for each settlement, in order. */
  record Settled(List<Result> results) {
    static Settled of(List<Optional<ApiException>> outcomes) {
      return new Settled(
          outcomes.stream()
              .map(
                  outcome ->
                      new Result(
                          outcome
                              .map(refused -> HttpAnswer.Failure.of(refused).error())
                              .orElse(null)))
              .toList());
    }
  }

  /** Has an error if it failed. */
  record Result(HttpAnswer.@Nullable Problem error) {}

  /** Which dead letters go back. */
  record Redrive(@Nullable Long count, @Nullable Boolean runScript) {}
}
