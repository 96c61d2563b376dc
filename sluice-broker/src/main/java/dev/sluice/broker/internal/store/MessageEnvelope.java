package dev.sluice.broker.internal.store;

import dev.sluice.broker.DeadLetter;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The part of a message that is stored once and never changed.
 *
 * <pre>
 *   enqueued at: 8 bytes   flags: 1 byte   headers: varint, then name and value of each
 *   [dead letter: source, id, reason, attempts, error]   payload: the rest
 * </pre>
 *
 * @param enqueuedAt broker time
 */
public @SuppressWarnings("ArrayRecordComponent") // never compared
record MessageEnvelope(
    long enqueuedAt, Map<String, String> headers, @Nullable DeadLetter deadLetter, byte[] payload) {
  private static final int IS_DEAD_LETTER = 1;

  /** A new message; when it is enqueued is filled in by {@link #stamp}. */
  public static byte[] encode(Map<String, String> headers, byte[] payload) {
    return new MessageEnvelope(0, headers, null, payload).encode();
  }

  /** Fills in when the message was enqueued. */
  public static void stamp(byte[] encoded, long enqueuedAt) {
    for (int i = 0; i < Long.BYTES; i++) {
      encoded[i] = (byte) (enqueuedAt >>> (8 * (Long.BYTES - 1 - i)));
    }
  }

  public MessageEnvelope with(@Nullable DeadLetter newDeadLetter) {
    return new MessageEnvelope(enqueuedAt, headers, newDeadLetter, payload);
  }

  public byte[] encode() {
    ByteWriter out = new ByteWriter(payload.length + 32 + 64 * headers.size());
    out.int64(enqueuedAt).int8(deadLetter == null ? 0 : IS_DEAD_LETTER).varint(headers.size());
    headers.forEach((name, value) -> out.text(name).text(value));
    if (deadLetter != null) {
      out.text(deadLetter.queue())
          .int64(deadLetter.id().getMostSignificantBits())
          .int64(deadLetter.id().getLeastSignificantBits())
          .text(deadLetter.reason().name())
          .varint(deadLetter.attempts())
          .text(deadLetter.error());
    }
    return out.raw(payload).toBytes();
  }

  public static MessageEnvelope decode(byte[] encoded) {
    ByteReader in = new ByteReader(encoded);
    long enqueuedAt = in.int64();
    boolean dead = (in.int8() & IS_DEAD_LETTER) != 0;
    int count = in.varint32();
    Map<String, String> headers = count == 0 ? Map.of() : new HashMap<>();
    for (int i = 0; i < count; i++) {
      headers.put(in.text(), in.text());
    }
    DeadLetter deadLetter = dead ? deadLetter(in) : null;
    return new MessageEnvelope(enqueuedAt, headers, deadLetter, in.rest());
  }

  private static DeadLetter deadLetter(ByteReader in) {
    String source = in.text();
    UUID id = new UUID(in.int64(), in.int64());
    return new DeadLetter(
        source, id, DeadLetter.Reason.valueOf(in.text()), in.varint32(), in.text());
  }
}
