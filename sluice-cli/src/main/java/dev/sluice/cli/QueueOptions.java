package dev.sluice.cli;

import dev.sluice.client.QueueSettings;
import dev.sluice.client.QueueSettings.Durability;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that make up the settings of a queue. */
final class QueueOptions {
  @Option(
      names = "--lease",
      paramLabel = "DURATION",
      converter = Converters.DurationConverter.class,
      description = "How long a delivered message is held. At first: 30s.")
  private @Nullable Duration lease;

  @Option(
      names = "--durability",
      paramLabel = "WHEN",
      description = "Answers come after fsync (always), or before it (interval, os).")
  private @Nullable String durability;

  @Option(
      names = "--on-enqueue",
      paramLabel = "FILE",
      description = "Lua that is asked about each message; - is standard input, '' none.")
  private @Nullable String onEnqueue;

  @Option(
      names = "--on-failure",
      paramLabel = "FILE",
      description = "Lua that is asked about each failure; - is standard input, '' none.")
  private @Nullable String onFailure;

  @Option(
      names = "--max-attempts",
      paramLabel = "N",
      converter = Converters.SmallNumberConverter.class,
      description = "Failures that make a dead letter; 0: no limit.")
  private @Nullable Integer maxAttempts;

  @Option(
      names = "--retry-delay",
      paramLabel = "DURATION",
      converter = Converters.DurationConverter.class,
      description = "The delay after the first failure, doubled with each further one; 0s: none.")
  private @Nullable Duration retryDelay;

  @Option(
      names = "--max-retry-delay",
      paramLabel = "DURATION",
      converter = Converters.DurationConverter.class,
      description = "The longest delay after any failure.")
  private @Nullable Duration maxRetryDelay;

  @Option(
      names = "--strict-order",
      negatable = true,
      description = "Whether a fairness key keeps its order also over throttle keys.")
  private @Nullable Boolean strictOrder;

  @Option(
      names = "--strict-throttle-keys",
      negatable = true,
      description = "Whether messages are refused that name a throttle key without a rate.")
  private @Nullable Boolean strictThrottleKeys;

  @Option(
      names = "--max-depth",
      paramLabel = "N",
      converter = Converters.WholeNumberConverter.class,
      description = "The most messages; 0: no limit.")
  private @Nullable Long maxDepth;

  @Option(
      names = "--max-depth-per-key",
      paramLabel = "N",
      converter = Converters.WholeNumberConverter.class,
      description = "The most messages of a fairness key; 0: no limit.")
  private @Nullable Long maxDepthPerKey;

  @Option(
      names = "--max-in-flight-per-key",
      paramLabel = "N",
      converter = Converters.SmallNumberConverter.class,
      description = "The most leased messages of a fairness key; 0: no limit.")
  private @Nullable Integer maxInFlightPerKey;

  @Option(
      names = "--ttl",
      paramLabel = "DURATION",
      converter = Converters.DurationConverter.class,
      description = "When messages fail that nobody took; 0s: never.")
  private @Nullable Duration timeToLive;

  @Option(
      names = "--dedupe-window",
      paramLabel = "DURATION",
      converter = Converters.DurationConverter.class,
      description = "How long a dedupe id is remembered; 0s: not at all.")
  private @Nullable Duration dedupeWindow;

  /** Returns the settings of the options that were given, and no others. */
  QueueSettings settings(InputStream input) {
    QueueSettings settings = QueueSettings.defaults();
    settings = with(settings, lease, QueueSettings::withLease);
    settings = with(settings, durability, (to, word) -> to.withDurability(durability(word)));
    settings = with(settings, onEnqueue, (to, file) -> to.withOnEnqueue(script(file, input)));
    settings = with(settings, onFailure, (to, file) -> to.withOnFailure(script(file, input)));
    settings = with(settings, maxAttempts, QueueSettings::withMaxAttempts);
    settings = with(settings, retryDelay, QueueSettings::withRetryDelay);
    settings = with(settings, maxRetryDelay, QueueSettings::withMaxRetryDelay);
    settings = with(settings, strictOrder, QueueSettings::withStrictOrder);
    settings = with(settings, strictThrottleKeys, QueueSettings::withStrictThrottleKeys);
    settings = with(settings, maxDepth, QueueSettings::withMaxDepth);
    settings = with(settings, maxDepthPerKey, QueueSettings::withMaxDepthPerKey);
    settings = with(settings, maxInFlightPerKey, QueueSettings::withMaxInFlightPerKey);
    settings = with(settings, timeToLive, QueueSettings::withTimeToLive);
    return with(settings, dedupeWindow, QueueSettings::withDedupeWindow);
  }

  private static <T> QueueSettings with(
      QueueSettings settings,
      @Nullable T given,
      BiFunction<QueueSettings, T, QueueSettings> setting) {
    return given == null ? settings : setting.apply(settings, given);
  }

  private static Durability durability(String word) {
    return Arrays.stream(Durability.values())
        .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(word))
        .findAny()
        .orElseThrow(
            () ->
                new InvalidInputException(
                    "--durability must be always, interval or os: " + Quoted.of(word)));
  }

  private static String script(String file, InputStream input) {
    return file.isEmpty() ? "" : new String(Input.bytes(file, input), StandardCharsets.UTF_8);
  }
}
