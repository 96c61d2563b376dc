package dev.sluice.cli.commands;

import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.cli.text.TextTable;
import dev.sluice.client.QueueConfig;
import dev.sluice.client.QueueStatus;
import dev.sluice.client.QueueSummary;
import dev.sluice.client.QueueTotals;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Formats queues as text and as JSON. */
final class QueueOutput {
  private static final TextTable<QueueStatus.FairnessKeyStats> KEYS =
      new TextTable<>(
          1,
          List.of("FAIRNESS KEY", "PENDING", "WEIGHT", "DEFICIT"),
          key ->
              List.of(
                  key.fairnessKey(),
                  Long.toString(key.pending()),
                  Integer.toString(key.weight()),
                  Long.toString(key.deficit())));

  private QueueOutput() {}

  static JsonWriter summary(QueueSummary queue) {
    return JsonWriter.object()
        .put("name", queue.name())
        .put("depth", queue.depth())
        .put("in_flight", queue.inFlight())
        .put("consumers", queue.consumers())
        .put("totals", totals(queue.totals()));
  }

  static JsonWriter json(QueueStatus status) {
    return JsonWriter.object()
        .put("name", status.name())
        .put("revision", status.revision())
        .put("config", config(status.config()))
        .putTexts("hook_throttle_keys", status.hookThrottleKeys())
        .put("stats", stats(status));
  }

  private static JsonWriter config(QueueConfig config) {
    return JsonWriter.object()
        .put("lease_timeout_ms", config.leaseTimeout().toMillis())
        .put("durability", config.durability().name())
        .put("on_enqueue", config.onEnqueue())
        .put("on_failure", config.onFailure())
        .put("max_attempts", config.maxAttempts().orElse(0))
        .put("retry_delay_ms", millis(config.retryDelay()))
        .put("max_retry_delay_ms", millis(config.maxRetryDelay()))
        .put("strict_order", config.strictOrder())
        .put("max_depth", config.maxDepth())
        .put("max_depth_per_key", config.maxDepthPerKey())
        .put("max_in_flight_per_key", config.maxInFlightPerKey())
        .put("time_to_live_ms", config.timeToLive().toMillis())
        .put("dedupe_window_ms", config.dedupeWindow().toMillis())
        .put("strict_throttle_keys", config.strictThrottleKeys());
  }

  private static long millis(Optional<Duration> delay) {
    return delay.orElse(Duration.ZERO).toMillis();
  }

  static JsonWriter stats(QueueStatus status) {
    return JsonWriter.object()
        .put("depth", status.depth())
        .put("in_flight", status.inFlight())
        .put("delayed", status.delayed())
        .put("consumers", status.consumers())
        .putObjects(
            "fairness_keys",
            status.fairnessKeys().stream()
                .map(
                    key ->
                        JsonWriter.object()
                            .put("fairness_key", key.fairnessKey())
                            .put("pending", key.pending())
                            .put("weight", key.weight())
                            .put("deficit", key.deficit()))
                .toList())
        .put("totals", totals(status.totals()))
        .put("unknown_throttle_keys", status.unknownThrottleKeys())
        .put("last_unknown_throttle_key", status.lastUnknownThrottleKey());
  }

  private static JsonWriter totals(QueueTotals totals) {
    return JsonWriter.object()
        .put("enqueued", totals.enqueued())
        .put("delivered", totals.delivered())
        .put("acked", totals.acked())
        .put("failed", totals.failed())
        .put("dead_lettered", totals.deadLettered());
  }

  static void printConfig(QueueStatus status, PrintWriter out) {
    QueueConfig config = status.config();
    line(out, "lease-timeout", Durations.format(config.leaseTimeout().toNanos()));
    line(out, "durability", config.durability().name().toLowerCase(Locale.ROOT));
    line(out, "max-attempts", orNone(config.maxAttempts().orElse(0)));
    line(out, "retry-delay", orNone(config.retryDelay().orElse(Duration.ZERO)));
    line(out, "max-retry-delay", orNone(config.maxRetryDelay().orElse(Duration.ZERO)));
    line(out, "strict-order", config.strictOrder() ? "yes" : "no");
    line(out, "strict-throttle-keys", config.strictThrottleKeys() ? "yes" : "no");
    line(out, "max-depth", orNone(config.maxDepth()));
    line(out, "max-depth-per-key", orNone(config.maxDepthPerKey()));
    line(out, "max-in-flight-per-key", orNone(config.maxInFlightPerKey()));
    line(out, "ttl", orNone(config.timeToLive()));
    line(out, "dedupe-window", orNone(config.dedupeWindow()));
    hook(out, "on-enqueue", config.onEnqueue());
    if (!config.onEnqueue().isEmpty()) {
      String patterns = TerminalText.lines(String.join(", ", status.hookThrottleKeys()));
      line(out, "hook-throttle-keys", patterns.isEmpty() ? "none" : patterns);
    }
    hook(out, "on-failure", config.onFailure());
    line(out, "revision", status.revision());
  }

  static void printCounts(QueueStatus status, PrintWriter out) {
    line(out, "depth", Long.toString(status.depth()));
    line(out, "in flight", Long.toString(status.inFlight()));
    line(out, "delayed", Long.toString(status.delayed()));
    line(out, "consumers", Integer.toString(status.consumers()));
    QueueTotals totals = status.totals();
    line(out, "enqueued so far", Long.toString(totals.enqueued()));
    line(out, "delivered so far", Long.toString(totals.delivered()));
    line(out, "acked so far", Long.toString(totals.acked()));
    line(out, "failed so far", Long.toString(totals.failed()));
    line(out, "dead-lettered so far", Long.toString(totals.deadLettered()));
    if (status.unknownThrottleKeys() > 0) {
      line(
          out,
          "unknown throttle keys",
          "%d messages, the latest named %s"
              .formatted(
                  status.unknownThrottleKeys(),
                  TerminalText.lines(status.lastUnknownThrottleKey())));
    }
  }

  static void printKeys(QueueStatus status, PrintWriter out) {
    if (!status.fairnessKeys().isEmpty()) {
      out.println();
      KEYS.print(status.fairnessKeys(), out);
    }
  }

  private static void hook(PrintWriter out, String name, String lua) {
    line(out, name, lua.isEmpty() ? "none" : "");
    lua.lines().forEach(line -> out.println("  " + TerminalText.lines(line)));
  }

  private static void line(PrintWriter out, String name, String value) {
    out.println("%-22s %s".formatted(name, value).stripTrailing());
  }

  private static String orNone(long number) {
    return number == 0 ? "none" : Long.toString(number);
  }

  private static String orNone(Duration duration) {
    return duration.isZero() ? "none" : Durations.format(duration.toNanos());
  }
}
