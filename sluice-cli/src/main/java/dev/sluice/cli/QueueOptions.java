package dev.sluice.cli;

import dev.sluice.client.QueueSettings;
import dev.sluice.client.QueueSettings.Durability;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
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
      description = "Failures that make a dead letter; 0: never by count.")
  private @Nullable Integer maxAttempts;

  @Option(
      names = "--strict-order",
      negatable = true,
      description = "Whether a fairness key keeps its order also over throttle keys.")
  private @Nullable Boolean strictOrder;

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

  /** {@code before}, with what is given here. */
  QueueSettings appliedTo(QueueSettings before, InputStream input) {
    QueueSettings settings =
        before.withMaxDepth(
            orElse(maxDepth, before.maxDepth()), orElse(maxDepthPerKey, before.maxDepthPerKey()));
    settings = lease == null ? settings : settings.withLease(lease);
    settings = durability == null ? settings : settings.withDurability(durability(durability));
    settings = onEnqueue == null ? settings : settings.withOnEnqueue(script(onEnqueue, input));
    settings = onFailure == null ? settings : settings.withOnFailure(script(onFailure, input));
    settings = maxAttempts == null ? settings : settings.withMaxAttempts(maxAttempts);
    settings = strictOrder == null ? settings : settings.withStrictOrder(strictOrder);
    settings =
        maxInFlightPerKey == null ? settings : settings.withMaxInFlightPerKey(maxInFlightPerKey);
    settings = timeToLive == null ? settings : settings.withTimeToLive(timeToLive);
    return dedupeWindow == null ? settings : settings.withDedupeWindow(dedupeWindow);
  }

  private static long orElse(@Nullable Long given, long before) {
    return given == null ? before : given;
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
