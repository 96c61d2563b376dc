package dev.sluice.server.operations;

import dev.sluice.broker.Durability;
import dev.sluice.broker.QueueConfig;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The configuration of a queue as requests and answers have it; null stands for the default. */
public record QueueConfigFields(
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
  private static final Map<String, BiConsumer<QueueConfigFields, QueueConfig.Builder>> FIELDS =
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
              "max_retry_delay_ms", (from, to) -> to.maxRetryDelay(duration(from.maxRetryDelayMs))),
          Map.entry(
              "strict_order", (from, to) -> to.strictOrder(Boolean.TRUE.equals(from.strictOrder))),
          Map.entry(
              "max_depth",
              (from, to) -> to.maxDepth(Objects.requireNonNullElse(from.maxDepth, 0L))),
          Map.entry(
              "max_depth_per_key",
              (from, to) -> to.maxDepthPerKey(Objects.requireNonNullElse(from.maxDepthPerKey, 0L))),
          Map.entry(
              "max_in_flight_per_key",
              (from, to) ->
                  to.maxInFlightPerKey(Objects.requireNonNullElse(from.maxInFlightPerKey, 0))),
          Map.entry(
              "time_to_live_ms", (from, to) -> to.timeToLive(or(from.timeToLiveMs, Duration.ZERO))),
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
    return source == null || source.isEmpty() ? null : source;
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
      BiConsumer<QueueConfigFields, QueueConfig.Builder> field = FIELDS.get(name);
      if (field == null) {
        throw ApiException.invalid(
            "field must be one of %s, but was %s".formatted(new TreeSet<>(FIELDS.keySet()), name));
      }
      field.accept(this, config);
    }
    return config.build();
  }

  /** Returns the fields of {@code config}. */
  public static QueueConfigFields of(QueueConfig config) {
    return new QueueConfigFields(
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

  /**
   * Returns the patterns of the throttle keys that {@code on_enqueue} may name, if there is one.
   */
  public static List<String> hookThrottleKeys(QueueConfig config) {
    return config.onEnqueue() == null ? List.of() : config.hookThrottleKeys();
  }
}
