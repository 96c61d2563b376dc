package dev.sluice.server.http.routes;

import dev.sluice.FairnessKeyStats;
import dev.sluice.broker.Durability;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.QueueTotals;
import dev.sluice.server.grpc.services.QueueProtoMapper;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.operations.QueueOperations.Action;
import dev.sluice.server.operations.QueueOperations.Settlement;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** JSON of queues; omitted fields have their default. */
public final class QueueJson {
  private QueueJson() {}

  /** A queue to be made. */
  public record NewQueue(@Nullable String name, @Nullable Config config) {}

  /** The configuration of a queue; null stands for the default. */
  public record Config(
      @Nullable Long leaseTimeoutMs,
      @Nullable Durability durability,
      @Nullable String onEnqueue,
      @Nullable String onFailure,
      @Nullable Integer maxAttempts,
      @Nullable Long retryDelayMs,
      @Nullable Long maxRetryDelayMs,
      @Nullable Boolean strictOrder,
      @Nullable Long maxDepth,
      @Nullable Long maxDepthPerKey,
      @Nullable Integer maxInFlightPerKey,
      @Nullable Long timeToLiveMs,
      @Nullable Long dedupeWindowMs,
      @Nullable Boolean strictThrottleKeys) {
    private static final QueueConfig DEFAULTS = QueueConfig.defaults();

    /** The fields by name, each with the code that applies it to a builder. */
    private static final Map<String, BiConsumer<Config, QueueConfig.Builder>> FIELDS =
        Map.ofEntries(
            Map.entry(
                "lease_timeout_ms",
                (from, to) -> to.leaseTimeout(or(from.leaseTimeoutMs, DEFAULTS.leaseTimeout()))),
            Map.entry(
                "durability",
                (from, to) ->
                    to.durability(
                        Objects.requireNonNullElse(from.durability, DEFAULTS.durability()))),
            Map.entry("on_enqueue", (from, to) -> to.onEnqueue(script(from.onEnqueue))),
            Map.entry("on_failure", (from, to) -> to.onFailure(script(from.onFailure))),
            Map.entry("max_attempts", (from, to) -> to.maxAttempts(from.maxAttempts)),
            Map.entry("retry_delay_ms", (from, to) -> to.retryDelay(duration(from.retryDelayMs))),
            Map.entry(
                "max_retry_delay_ms",
                (from, to) -> to.maxRetryDelay(duration(from.maxRetryDelayMs))),
            Map.entry(
                "strict_order",
                (from, to) -> to.strictOrder(Boolean.TRUE.equals(from.strictOrder))),
            Map.entry("max_depth", (from, to) -> to.maxDepth(orZero(from.maxDepth))),
            Map.entry(
                "max_depth_per_key", (from, to) -> to.maxDepthPerKey(orZero(from.maxDepthPerKey))),
            Map.entry(
                "max_in_flight_per_key",
                (from, to) ->
                    to.maxInFlightPerKey(Objects.requireNonNullElse(from.maxInFlightPerKey, 0))),
            Map.entry(
                "time_to_live_ms",
                (from, to) -> to.timeToLive(or(from.timeToLiveMs, Duration.ZERO))),
            Map.entry(
                "dedupe_window_ms",
                (from, to) -> to.dedupeWindow(or(from.dedupeWindowMs, Duration.ZERO))),
            Map.entry(
                "strict_throttle_keys",
                (from, to) -> to.strictThrottleKeys(Boolean.TRUE.equals(from.strictThrottleKeys))));

    private static @Nullable Duration duration(@Nullable Long millis) {
      return millis == null ? null : Duration.ofMillis(millis);
    }

    private static Duration or(@Nullable Long millis, Duration otherwise) {
      return millis == null ? otherwise : Duration.ofMillis(millis);
    }

    private static @Nullable String script(@Nullable String source) {
      return source == null ? null : QueueProtoMapper.emptyToNull(source);
    }

    /** Returns a whole configuration, with defaults for fields that are null. */
    public QueueConfig toConfig() {
      QueueConfig.Builder config = QueueConfig.builder();
      FIELDS.values().forEach(field -> field.accept(this, config));
      return config.build();
    }

    /** Returns {@code before} with the named fields changed; one that is null gets its default. */
    public QueueConfig appliedTo(QueueConfig before, Collection<String> names) {
      QueueConfig.Builder config = before.toBuilder();
      for (String name : names) {
        BiConsumer<Config, QueueConfig.Builder> field = FIELDS.get(name);
        if (field == null) {
          throw ApiException.invalid(
              "field must be one of %s, but was %s"
                  .formatted(new TreeSet<>(FIELDS.keySet()), name));
        }
        field.accept(this, config);
      }
      return config.build();
    }

    public static Config of(QueueConfig config) {
      return new Config(
          config.leaseTimeout().toMillis(),
          config.durability(),
          config.onEnqueue(),
          config.onFailure(),
          config.maxAttempts(),
          config.retryDelay().toMillis(),
          config.maxRetryDelay().toMillis(),
          config.strictOrder(),
          config.maxDepth(),
          config.maxDepthPerKey(),
          config.maxInFlightPerKey(),
          config.timeToLive().toMillis(),
          config.dedupeWindow().toMillis(),
          config.strictThrottleKeys());
    }
  }

  static long orZero(@Nullable Long value) {
    return value == null ? 0 : value;
  }

  /**
   * Returns the patterns of the throttle keys that {@code on_enqueue} may name, if there is one.
   */
  public static List<String> hookThrottleKeys(QueueConfig config) {
    return config.onEnqueue() == null ? List.of() : config.hookThrottleKeys();
  }

  /** A queue with all that is known of it. */
  public record QueueDetailsJson(
      String name, String revision, Config config, List<String> hookThrottleKeys, Stats stats) {}

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
          QueueProtoMapper.id(id),
          QueueProtoMapper.lease(leaseToken == null ? "" : leaseToken),
          toAction(index));
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
        case "nack" -> new Action.Nack(error == null ? "" : error, Config.duration(delayMs));
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
