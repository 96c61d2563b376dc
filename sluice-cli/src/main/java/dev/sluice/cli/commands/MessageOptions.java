package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.text.CostArguments;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.client.Message;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What goes with a message beside its payload. */
final class MessageOptions {
  @Option(
      names = "--header",
      paramLabel = "NAME=VALUE",
      description = "A header; may be given again.")
  private Map<String, String> headers = new LinkedHashMap<>();

  @Option(
      names = "--key",
      paramLabel = "KEY",
      description = "Its fairness key: whose turn it takes.")
  private @Nullable String key;

  @Option(
      names = "--weight",
      paramLabel = "N",
      converter = OptionConverters.SmallNumberConverter.class,
      description = "How many turns its key has for one of weight 1.")
  private @Nullable Integer weight;

  @Option(
      names = "--priority",
      paramLabel = "N",
      converter = OptionConverters.SmallNumberConverter.class,
      description = "Higher ones go first. Default: 0.")
  private @Nullable Integer priority;

  @Option(
      names = "--throttle",
      paramLabel = "KEY[=TOKENS]",
      description = "Takes tokens of a throttle key, 1 by default; may be given again.")
  private List<String> throttles = new ArrayList<>();

  @Option(
      names = "--delay",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "Not delivered before.")
  private @Nullable Duration delay;

  @Option(
      names = "--ttl",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "Fails when it has waited so long.")
  private @Nullable Duration timeToLive;

  @Option(
      names = "--dedupe-id",
      paramLabel = "ID",
      description = "A second message of this id within the queue's window is the first one.")
  private @Nullable String dedupeId;

  boolean hasDedupeId() {
    return dedupeId != null;
  }

  /** A message of {@code payload} with all of it. */
  Message message(byte[] payload) {
    try {
      Message message = Message.of(payload);
      for (Map.Entry<String, String> header : headers.entrySet()) {
        message = message.withHeader(header.getKey(), header.getValue());
      }
      for (Map.Entry<String, Long> throttle : CostArguments.parse(throttles).entrySet()) {
        message = message.withThrottleKey(throttle.getKey(), throttle.getValue());
      }
      message = key == null ? message : message.withFairnessKey(key);
      message = weight == null ? message : message.withWeight(weight);
      message = priority == null ? message : message.withPriority(priority);
      message = delay == null ? message : message.withDelay(delay);
      message = timeToLive == null ? message : message.withTimeToLive(timeToLive);
      return dedupeId == null ? message : message.withDedupeId(dedupeId);
    } catch (IllegalArgumentException refused) {
      throw new InvalidInputException(String.valueOf(refused.getMessage()));
    }
  }
}
