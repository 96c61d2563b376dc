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

/** The attributes of a message. */
final class MessageOptions {
  @Option(names = "--header", paramLabel = "NAME=VALUE", description = "A header; may be repeated.")
  private Map<String, String> headers = new LinkedHashMap<>();

  @Option(
      names = "--fairness-key",
      paramLabel = "KEY",
      description = "The tenant, customer or user that the message belongs to.")
  private @Nullable String fairnessKey;

  @Option(
      names = "--weight",
      paramLabel = "N",
      converter = OptionConverters.SmallNumberConverter.class,
      description = "The share of its fairness key relative to other keys.")
  private @Nullable Integer weight;

  @Option(
      names = "--priority",
      paramLabel = "N",
      converter = OptionConverters.SmallNumberConverter.class,
      description = "Messages of higher priority go first. Default: 0.")
  private @Nullable Integer priority;

  @Option(
      names = "--throttle-key",
      paramLabel = "KEY[=TOKENS]",
      description = "A limit whose tokens delivery takes, 1 by default; may be repeated.")
  private List<String> throttleKeys = new ArrayList<>();

  @Option(
      names = "--delay",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "Time before the message can be delivered.")
  private @Nullable Duration delay;

  @Option(
      names = "--ttl",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "Time after which the undelivered message expires.")
  private @Nullable Duration timeToLive;

  @Option(
      names = "--dedupe-id",
      paramLabel = "ID",
      description = "Within the queue's window, a second message with this id is not stored.")
  private @Nullable String dedupeId;

  boolean hasDedupeId() {
    return dedupeId != null;
  }

  /** Returns a message of {@code payload} with these attributes. */
  Message message(byte[] payload) {
    try {
      Message message = Message.of(payload);
      for (Map.Entry<String, String> header : headers.entrySet()) {
        message = message.withHeader(header.getKey(), header.getValue());
      }
      for (Map.Entry<String, Long> throttle : CostArguments.parse(throttleKeys).entrySet()) {
        message = message.withThrottleKey(throttle.getKey(), throttle.getValue());
      }
      message = fairnessKey == null ? message : message.withFairnessKey(fairnessKey);
      message = weight == null ? message : message.withWeight(weight);
      message = priority == null ? message : message.withPriority(priority);
      message = delay == null ? message : message.withDelay(delay);
      message = timeToLive == null ? message : message.withTimeToLive(timeToLive);
      return dedupeId == null ? message : message.withDedupeId(dedupeId);
    } catch (IllegalArgumentException invalid) {
      throw new InvalidInputException(String.valueOf(invalid.getMessage()));
    }
  }
}
