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

/** Formats messages as text and as JSON; payloads that are not UTF-8 become base64. */
final class MessageOutput {
  private MessageOutput() {}

  static JsonWriter json(Delivery message) {
    JsonWriter json =
        JsonWriter.object().put("id", message.id()).put("lease_token", message.leaseToken());
    content(json, message.payload(), message.headers());
    json.put("fairness_key", message.fairnessKey())
        .put("weight", message.weight())
        .putTexts("throttle_keys", new TreeSet<>(message.throttleKeys()))
        .put("attempts", message.attempts())
        .put("enqueued_at_ms", message.enqueuedAt().toEpochMilli())
        .put("lease_ends_at_ms", message.leaseEndsAt().toEpochMilli());
    return deadLetter(json, message.deadLetter());
  }

  static JsonWriter json(StoredMessage message) {
    JsonWriter json = JsonWriter.object().put("id", message.id());
    content(json, message.payload(), message.headers());
    json.put("fairness_key", message.fairnessKey())
        .putTexts("throttle_keys", new TreeSet<>(message.throttleKeys()))
        .put("attempts", message.attempts())
        .put("enqueued_at_ms", message.enqueuedAt().toEpochMilli())
        .put("available_at_ms", message.availableAt().toEpochMilli());
    return deadLetter(json, message.deadLetter());
  }

  private static void content(JsonWriter json, byte[] payload, Map<String, String> headers) {
    utf8(payload)
        .ifPresentOrElse(
            text -> json.put("payload", text), () -> json.put("payload_base64", base64(payload)));
    json.put("headers", new TreeMap<>(headers));
  }

  private static JsonWriter deadLetter(JsonWriter json, Optional<DeadLetter> cause) {
    cause.ifPresent(
        letter ->
            json.put(
                "dead_letter",
                JsonWriter.object()
                    .put("queue", letter.queue())
                    .put("id", letter.id())
                    .put("reason", letter.reason())
                    .put("attempts", letter.attempts())
                    .put("error", letter.error())));
    return json;
  }

  /** Returns the payload; for a screen, without characters that control a terminal. */
  static String payload(byte[] payload, boolean screen) {
    String text = utf8(payload).orElseGet(() -> "base64:" + base64(payload));
    return screen ? TerminalText.lines(text) : text;
  }

  private static Optional<String> utf8(byte[] payload) {
    try {
      // A decoder rejects invalid UTF-8; the constructor of String replaces it.
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
