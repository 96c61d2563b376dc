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
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that set the configuration of a queue. */
final class QueueConfigOptions {
  @Option(
      names = "--lease-timeout",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "How long a consumer may hold a delivered message. New queues: 30s.")
  private @Nullable Duration leaseTimeout;

  @Option(
      names = "--durability",
      paramLabel = "WHEN",
      description = "Confirm messages after fsync (always) or before it (interval, os).")
  private @Nullable String durability;

  @Option(
      names = "--on-enqueue",
      paramLabel = "FILE",
      description = "A Lua hook for each new message; - is standard input, '' none.")
  private @Nullable String onEnqueue;

  @Option(
      names = "--on-failure",
      paramLabel = "FILE",
      description = "A Lua hook for each failed delivery; - is standard input, '' none.")
  private @Nullable String onFailure;

  @Option(
      names = "--max-attempts",
      paramLabel = "N",
      converter = OptionConverters.SmallNumberConverter.class,
      description = "Failures after which a message becomes a dead letter; 0: no limit.")
  private @Nullable Integer maxAttempts;

  @Option(
      names = "--retry-delay",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "The delay after the first failure, doubled with each other one; 0s: none.")
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
      description = "Keep the order of a fairness key even across throttle keys.")
  private @Nullable Boolean strictOrder;

  @Option(
      names = "--strict-throttle-keys",
      negatable = true,
      description = "Refuse messages that name a throttle key without a limit.")
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
      description = "Time after which undelivered messages expire; 0s: never.")
  private @Nullable Duration timeToLive;

  @Option(
      names = "--dedupe-window",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "Time within which a repeated dedupe id is not stored; 0s: none.")
  private @Nullable Duration dedupeWindow;

  /** Returns a configuration with the settings of the given options, and no others. */
  QueueConfig config(InputStream input) {
    QueueConfig.Builder config = QueueConfig.builder();
    set(leaseTimeout, config::leaseTimeout);
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
    return Stream.of(Durability.ALWAYS, Durability.INTERVAL, Durability.OS)
        .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(word))
        .findAny()
        .orElseThrow(
            () ->
                new InvalidInputException(
                    "--durability must be always, interval or os, but was " + Quoting.of(word)));
  }

  private static String script(String file, InputStream input) {
    return file.isEmpty() ? "" : new String(InputFiles.bytes(file, input), StandardCharsets.UTF_8);
  }
}
