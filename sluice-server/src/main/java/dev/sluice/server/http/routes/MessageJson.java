package dev.sluice.server.http.routes;

import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Message;
import dev.sluice.broker.StoredMessage;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.http.Utf8Text;
import dev.sluice.server.operations.IdFormat;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Messages in JSON: their content is text where it is UTF-8 without control characters. */
public final class MessageJson {
  private MessageJson() {}

  /** Several messages on their way in. */
  public record Batch(@Nullable List<@Nullable NewMessage> messages) {}

  /** Reads a batch, which is an object with the one field {@code messages}, or a single message. */
  static List<Message> read(HttpRequest request) {
    if (!JsonCodec.startsWithField(request.body(), "messages")) {
      return List.of(request.read(NewMessage.class).toMessage());
    }
    List<@Nullable NewMessage> batch = request.read(Batch.class).messages();
    if (batch == null || batch.isEmpty()) {
      throw ApiException.invalid("messages must not be empty");
    }
    List<Message> messages = new ArrayList<>(batch.size());
    for (NewMessage each : batch) {
      if (each == null) {
        throw ApiException.invalid("messages[%d] must not be null".formatted(messages.size()));
      }
      messages.add(each.toMessage());
    }
    return messages;
  }

  /** A message on its way in. */
  public record NewMessage(
      @Nullable Utf8Text payload,
      @Nullable Utf8Text payloadBase64,
      @Nullable Map<String, @Nullable String> headers,
      @Nullable String fairnessKey,
      @Nullable Integer weight,
      @Nullable Integer priority,
      @Nullable Map<String, @Nullable Long> throttleKeys,
      @Nullable Long delayMs,
      @Nullable Long timeToLiveMs,
      @Nullable String dedupeId) {
    Message toMessage() {
      Message message = Message.of(content());
      if (headers != null) {
        message = message.withHeaders(present("headers", headers));
      }
      if (fairnessKey != null) {
        message = message.withFairnessKey(fairnessKey);
      }
      if (weight != null) {
        message = message.withWeight(weight);
      }
      if (priority != null) {
        message = message.withPriority(priority);
      }
      if (throttleKeys != null) {
        for (Map.Entry<String, Long> each : present("throttle_keys", throttleKeys).entrySet()) {
          message = message.withThrottleKey(each.getKey(), each.getValue());
        }
      }
      if (delayMs != null) {
        message = message.withDelay(Duration.ofMillis(delayMs));
      }
      if (timeToLiveMs != null) {
        message = message.withTimeToLive(Duration.ofMillis(timeToLiveMs));
      }
      return dedupeId == null ? message : message.withDedupeId(dedupeId);
    }

    private byte[] content() {
      if (payload != null && payloadBase64 == null) {
        return payload.bytes();
      }
      if (payloadBase64 == null || payload != null) {
        throw ApiException.invalid(
            "a message must have one of payload, payload_base64: "
                + (payload == null ? "none" : "both"));
      }
      try {
        return Base64.getDecoder().decode(payloadBase64.bytes());
      } catch (IllegalArgumentException malformed) {
        throw ApiException.invalid("payload_base64 must be base64: " + malformed.getMessage());
      }
    }
  }

  /** The map of that field, if it has a value for every name. */
  static <T> Map<String, T> present(String field, Map<String, @Nullable T> values) {
    Map<String, T> all = new LinkedHashMap<>();
    values.forEach(
        (name, value) -> {
          if (value == null) {
            throw ApiException.invalid("%s.%s must not be null".formatted(field, name));
          }
          all.put(name, value);
        });
    return all;
  }

  /** The content of a message: one of both. Jackson writes bytes as base64. */
  @SuppressWarnings("ArrayRecordComponent") // written, not compared
  private record Content(@Nullable Utf8Text text, byte @Nullable [] base64) {
    static Content of(byte[] payload) {
      return hasControls(payload) || !Utf8Text.isUtf8(payload)
          ? new Content(null, payload)
          : new Content(Utf8Text.of(payload), null);
    }

    /** They would take six times as much, each written as an escape. */
    private static boolean hasControls(byte[] payload) {
      for (byte each : payload) {
        if (each >= 0 && each < ' ' && each != '\t' && each != '\n' && each != '\r') {
          return true;
        }
      }
      return false;
    }
  }

  /** Leased messages. */
  public record Deliveries(List<Delivered> deliveries) {
    static Deliveries of(List<Delivery> deliveries) {
      return new Deliveries(deliveries.stream().map(Delivered::of).toList());
    }
  }

  /** A message on its way out, leased. */
  @SuppressWarnings("ArrayRecordComponent") // written, not compared
  public record Delivered(
      String id,
      String leaseToken,
      @Nullable Utf8Text payload,
      byte @Nullable [] payloadBase64,
      Map<String, String> headers,
      String fairnessKey,
      int weight,
      SortedSet<String> throttleKeys,
      int attempts,
      long enqueuedAtMs,
      long leaseEndsAtMs,
      MessageJson.@Nullable DeadLetterJson deadLetter) {
    static Delivered of(Delivery delivery) {
      Content content = Content.of(delivery.payload());
      return new Delivered(
          delivery.id().toString(),
          IdFormat.lease(delivery.leaseToken()),
          content.text(),
          content.base64(),
          delivery.headers(),
          delivery.fairnessKey(),
          delivery.weight(),
          new TreeSet<>(delivery.throttleKeys()),
          delivery.attempts(),
          delivery.enqueuedAt().toEpochMilli(),
          delivery.leaseEndsAt().toEpochMilli(),
          MessageJson.DeadLetterJson.of(delivery.deadLetter()));
    }
  }

  /** Messages that lie in a queue. */
  public record StoredMessagesJson(List<Stored> messages) {
    static MessageJson.StoredMessagesJson of(List<StoredMessage> messages) {
      return new MessageJson.StoredMessagesJson(messages.stream().map(Stored::of).toList());
    }
  }

  /** A message as it lies in a queue. */
  @SuppressWarnings("ArrayRecordComponent") // written, not compared
  public record Stored(
      String id,
      @Nullable Utf8Text payload,
      byte @Nullable [] payloadBase64,
      int payloadSize,
      boolean payloadTruncated,
      Map<String, String> headers,
      String fairnessKey,
      SortedSet<String> throttleKeys,
      int attempts,
      long enqueuedAtMs,
      long availableAtMs,
      MessageJson.@Nullable DeadLetterJson deadLetter) {
    static Stored of(StoredMessage message) {
      Content content = Content.of(message.payload());
      return new Stored(
          message.id().toString(),
          content.text(),
          content.base64(),
          message.payloadSize(),
          message.isTruncated(),
          message.headers(),
          message.fairnessKey(),
          new TreeSet<>(message.throttleKeys()),
          message.attempts(),
          message.enqueuedAt().toEpochMilli(),
          message.availableAt().toEpochMilli(),
          MessageJson.DeadLetterJson.of(message.deadLetter()));
    }
  }

  /** Why a message is where it is. */
  public record DeadLetterJson(String queue, String id, String reason, int attempts, String error) {
    static MessageJson.@Nullable DeadLetterJson of(Optional<DeadLetter> deadLetter) {
      return deadLetter
          .map(
              each ->
                  new MessageJson.DeadLetterJson(
                      each.queue(),
                      each.id().toString(),
                      each.reason().name(),
                      each.attempts(),
                      each.error()))
          .orElse(null);
    }
  }
}
