package dev.sluice.cli;

import dev.sluice.client.DeadLetterCause;
import dev.sluice.client.PeekedMessage;
import dev.sluice.client.ReceivedMessage;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/** Messages as text and as JSON: their content is text where it is UTF-8, and base64 otherwise. */
final class MessageText {
  private MessageText() {}

  static Json json(ReceivedMessage message) {
    Json json = Json.object().put("id", message.id()).put("lease", message.lease());
    content(json, message.payload(), message.headers());
    json.put("fairness_key", message.key())
        .put("weight", message.weight())
        .putTexts("throttle_keys", new TreeSet<>(message.throttleKeys()))
        .put("attempts", message.attempts())
        .put("enqueued_at_ms", message.enqueuedAt().toEpochMilli())
        .put("lease_ends_at_ms", message.leaseEndsAt().toEpochMilli());
    return dead(json, message.deadLetter());
  }

  static Json json(PeekedMessage message) {
    Json json = Json.object().put("id", message.id());
    content(json, message.payload(), message.headers());
    json.put("fairness_key", message.key())
        .putTexts("throttle_keys", new TreeSet<>(message.throttleKeys()))
        .put("attempts", message.attempts())
        .put("enqueued_at_ms", message.enqueuedAt().toEpochMilli())
        .put("available_at_ms", message.availableAt().toEpochMilli());
    return dead(json, message.deadLetter());
  }

  private static void content(Json json, byte[] payload, Map<String, String> headers) {
    utf8(payload)
        .ifPresentOrElse(
            text -> json.put("payload", text), () -> json.put("payload_base64", base64(payload)));
    json.put("headers", new TreeMap<>(headers));
  }

  private static Json dead(Json json, Optional<DeadLetterCause> cause) {
    cause.ifPresent(
        why ->
            json.put(
                "dead_letter",
                Json.object()
                    .put("queue", why.queue())
                    .put("id", why.id())
                    .put("reason", why.reason())
                    .put("attempts", why.attempts())
                    .put("error", why.error())));
    return json;
  }

  /** The payload as it is; on a screen without characters that would upset it. */
  static String payload(byte[] payload, boolean screen) {
    String text = utf8(payload).orElseGet(() -> "base64:" + base64(payload));
    return screen ? Printable.lines(text) : text;
  }

  private static Optional<String> utf8(byte[] payload) {
    try {
      // Unlike a new String, a decoder refuses what is not UTF-8.
      return Optional.of(
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(payload)).toString());
    } catch (CharacterCodingException binary) {
      return Optional.empty();
    }
  }

  private static String base64(byte[] payload) {
    return Base64.getEncoder().encodeToString(payload);
  }
}
