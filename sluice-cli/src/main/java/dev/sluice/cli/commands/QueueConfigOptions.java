package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.InputFiles;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.Quoting;
import dev.sluice.client.QueueConfig;
import dev.sluice.client.QueueConfig.Durability;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that make up the settings of a queue. */
final class QueueConfigOptions {
  @Option(
      names = "--lease",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
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
      converter = OptionConverters.SmallNumberConverter.class,
      description = "Failures that make a dead letter; 0: no limit.")
  private @Nullable Integer maxAttempts;

  @Option(
      names = "--retry-delay",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "The delay after the first failure, doubled with each further one; 0s: none.")
  private @Nullable Duration retryDelay;

  @Option(
      names = "--max-retry-delay",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
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
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The most messages; 0: no limit.")
  private @Nullable Long maxDepth;

  @Option(
      names = "--max-depth-per-key",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The most messages of a fairness key; 0: no limit.")
  private @Nullable Long maxDepthPerKey;

  @Option(
      names = "--max-in-flight-per-key",
      paramLabel = "N",
      converter = OptionConverters.SmallNumberConverter.class,
      description = "The most leased messages of a fairness key; 0: no limit.")
  private @Nullable Integer maxInFlightPerKey;

  @Option(
      names = "--ttl",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "When messages fail that nobody took; 0s: never.")
  private @Nullable Duration timeToLive;

  @Option(
      names = "--dedupe-window",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "How long a dedupe id is remembered; 0s: not at all.")
  private @Nullable Duration dedupeWindow;

  /** Returns a configuration with the settings of the given options, and no others. */
  QueueConfig config(InputStream input) {
    QueueConfig.Builder config = QueueConfig.builder();
    set(lease, config::leaseTimeout);
    set(durability, word -> config.durability(durability(word)));
    set(onEnqueue, file -> config.onEnqueue(script(file, input)));
    set(onFailure, file -> config.onFailure(script(file, input)));
    set(maxAttempts, config::maxAttempts);
    set(retryDelay, config::retryDelay);
    set(maxRetryDelay, config::maxRetryDelay);
    set(strictOrder, config::strictOrder);
    set(strictThrottleKeys, config::strictThrottleKeys);
    set(maxDepth, config::maxDepth);
    set(maxDepthPerKey, config::maxDepthPerKey);
    set(maxInFlightPerKey, config::maxInFlightPerKey);
    set(timeToLive, config::timeToLive);
    set(dedupeWindow, config::dedupeWindow);
    return config.build();
  }

  private static <T> void set(@Nullable T given, Consumer<T> setting) {
    if (given != null) {
      setting.accept(given);
    }
  }

  private static Durability durability(String word) {
    return Arrays.stream(Durability.values())
        .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(word))
        .findAny()
        .orElseThrow(
            () ->
                new InvalidInputException(
                    "--durability must be always, interval or os: " + Quoting.of(word)));
  }

  private static String script(String file, InputStream input) {
    return file.isEmpty() ? "" : new String(InputFiles.bytes(file, input), StandardCharsets.UTF_8);
  }
}
