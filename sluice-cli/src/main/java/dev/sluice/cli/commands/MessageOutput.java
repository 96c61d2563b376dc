package dev.sluice.cli.commands;

import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.client.DeadLetter;
import dev.sluice.client.Delivery;
import dev.sluice.client.StoredMessage;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/** Messages as text and as JSON: their content is text where it is UTF-8, and base64 otherwise. */
final class MessageOutput {
  private MessageOutput() {}

  static JsonWriter json(Delivery message) {
    JsonWriter json =
        JsonWriter.object().put("id", message.id()).put("lease", message.leaseToken());
    content(json, message.payload(), message.headers());
    json.put("fairness_key", message.fairnessKey())
        .put("weight", message.weight())
        .putTexts("throttle_keys", new TreeSet<>(message.throttleKeys()))
        .put("attempts", message.attempts())
        .put("enqueued_at_ms", message.enqueuedAt().toEpochMilli())
        .put("lease_ends_at_ms", message.leaseEndsAt().toEpochMilli());
    return dead(json, message.deadLetter());
  }

  static JsonWriter json(StoredMessage message) {
    JsonWriter json = JsonWriter.object().put("id", message.id());
    content(json, message.payload(), message.headers());
    json.put("fairness_key", message.fairnessKey())
        .putTexts("throttle_keys", new TreeSet<>(message.throttleKeys()))
        .put("attempts", message.attempts())
        .put("enqueued_at_ms", message.enqueuedAt().toEpochMilli())
        .put("available_at_ms", message.availableAt().toEpochMilli());
    return dead(json, message.deadLetter());
  }

  private static void content(JsonWriter json, byte[] payload, Map<String, String> headers) {
    utf8(payload)
        .ifPresentOrElse(
            text -> json.put("payload", text), () -> json.put("payload_base64", base64(payload)));
    json.put("headers", new TreeMap<>(headers));
  }

  private static JsonWriter dead(JsonWriter json, Optional<DeadLetter> cause) {
    cause.ifPresent(
        why ->
            json.put(
                "dead_letter",
                JsonWriter.object()
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
    return screen ? TerminalText.lines(text) : text;
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
