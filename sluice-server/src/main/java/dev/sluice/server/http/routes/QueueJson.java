package dev.sluice.server.http.routes;

import dev.sluice.FairnessKeyStats;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.QueueTotals;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.operations.IdFormat;
import dev.sluice.server.operations.QueueConfigFields;
import dev.sluice.server.operations.QueueOperations.Action;
import dev.sluice.server.operations.QueueOperations.Settlement;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** JSON of queues; omitted fields have their default. */
public final class QueueJson {
  private QueueJson() {}

  /** A queue to be made. */
  public record NewQueue(@Nullable String name, @Nullable QueueConfigFields config) {}

  static long orZero(@Nullable Long value) {
    return value == null ? 0 : value;
  }

  /** A queue with all that is known of it. */
  public record QueueDetailsJson(
      String name,
      String revision,
      QueueConfigFields config,
      List<String> hookThrottleKeys,
      Stats stats) {}

  /** The state of a queue. */
  public record Stats(
      long depth,
      long inFlight,
      long delayed,
      int consumers,
      List<FairnessKeyStatsJson> fairnessKeys,
      QueueTotals totals,
      long unknownThrottleKeys,
      String lastUnknownThrottleKey) {
    static Stats of(QueueStats stats) {
      return new Stats(
          stats.depth(),
          stats.inFlight(),
          stats.delayed(),
          stats.consumers(),
          stats.fairnessKeys().stream().map(FairnessKeyStatsJson::of).toList(),
          stats.totals(),
          stats.unknownThrottleKeys(),
          stats.lastUnknownThrottleKey());
    }
  }

  /** The state of a fairness key. */
  public record FairnessKeyStatsJson(String fairnessKey, long pending, int weight, long deficit) {
    static FairnessKeyStatsJson of(FairnessKeyStats stats) {
      return new FairnessKeyStatsJson(
          stats.fairnessKey(), stats.pending(), stats.weight(), stats.deficit());
    }
  }

  /** All queues. */
  public record Summaries(List<Summary> queues) {
    static Summaries of(Map<String, QueueStats> queues) {
      return new Summaries(
          queues.entrySet().stream()
              .map(each -> Summary.of(each.getKey(), each.getValue()))
              .toList());
    }
  }

  /** The state of a queue, in short. */
  public record Summary(
      String name,
      long depth,
      long inFlight,
      long delayed,
      int consumers,
      QueueTotals totals,
      long unknownThrottleKeys,
      String lastUnknownThrottleKey) {
    static Summary of(String name, QueueStats stats) {
      return new Summary(
          name,
          stats.depth(),
          stats.inFlight(),
          stats.delayed(),
          stats.consumers(),
          stats.totals(),
          stats.unknownThrottleKeys(),
          stats.lastUnknownThrottleKey());
    }
  }

  /** A request to receive messages. */
  public record Receive(@Nullable Integer maxMessages, @Nullable Long waitMs) {}

  /** Leased messages to be settled. */
  public record Settle(@Nullable List<QueueJson.@Nullable SettlementJson> settlements) {
    List<Settlement> toSettlements() {
      if (settlements == null) {
        throw ApiException.invalid("settlements is required");
      }
      List<Settlement> all = new ArrayList<>(settlements.size());
      for (QueueJson.SettlementJson each : settlements) {
        int index = all.size();
        if (each == null) {
          throw ApiException.invalid("settlements[%d] must not be null".formatted(index));
        }
        all.add(each.toSettlement(index));
      }
      return all;
    }
  }

  /** The settlement of one leased message. */
  public record SettlementJson(
      @Nullable String id,
      @Nullable String leaseToken,
      @Nullable String action,
      @Nullable String error,
      @Nullable Long delayMs,
      @Nullable Long leaseTimeoutMs) {
    Settlement toSettlement(int index) {
      if (id == null || action == null) {
        throw ApiException.invalid(
            "settlements[%d].%s is required".formatted(index, id == null ? "id" : "action"));
      }
      return new Settlement(
          IdFormat.id(id), IdFormat.lease(leaseToken == null ? "" : leaseToken), toAction(index));
    }

    private Action toAction(int index) {
      String word = action == null ? "" : action;
      boolean hasNackField = error != null || delayMs != null;
      if ((hasNackField && !word.equals("nack"))
          || (leaseTimeoutMs != null && !word.equals("extend"))) {
        throw ApiException.invalid(
            "settlements[%d]: error and delay_ms go with nack, lease_timeout_ms with extend: %s"
                .formatted(index, word));
      }
      return switch (word) {
        case "ack" -> new Action.Ack();
        case "nack" ->
            new Action.Nack(
                error == null ? "" : error, delayMs == null ? null : Duration.ofMillis(delayMs));
        case "extend" -> new Action.Extend(Duration.ofMillis(orZero(leaseTimeoutMs)));
        case "release" -> new Action.Release();
        default ->
            throw ApiException.invalid(
                "settlements[%d].action must be one of ack, nack, extend, release, but was %s"
                    .formatted(index, word));
      };
    }
  }

  /** The results of the settlements, in order. */
  public record Settled(List<Result> results) {
    static Settled of(List<Optional<ApiException>> outcomes) {
      return new Settled(
          outcomes.stream()
              .map(
                  outcome ->
                      new Result(
                          outcome
                              .map(refused -> HttpResponse.ErrorBody.of(refused).error())
                              .orElse(null)))
              .toList());
    }
  }

  /** Has an error if it failed. */
  public record Result(HttpResponse.@Nullable ErrorDetail error) {}

  /** Which dead letters go back. */
  public record Redrive(@Nullable Long count, @Nullable Boolean runHook) {}
}
