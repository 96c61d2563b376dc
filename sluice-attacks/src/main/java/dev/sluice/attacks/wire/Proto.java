package dev.sluice.attacks.wire;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/** Writes messages of protobuf field by field, and finds fields in them. */
public final class Proto {
  private static final int VARINT = 0;
  private static final int LENGTH_DELIMITED = 2;

  /** Bytes of {@link #head}. */
  static final int MAX_HEAD_BYTES = 6;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  public Proto number(int field, long value) {
    varint(((long) field << 3) | VARINT);
    varint(value);
    return this;
  }

  public Proto bytes(int field, byte[] value) {
    varint(((long) field << 3) | LENGTH_DELIMITED);
    varint(value.length);
    out.writeBytes(value);
    return this;
  }

  public Proto text(int field, String value) {
    return bytes(field, value.getBytes(StandardCharsets.UTF_8));
  }

  public Proto message(int field, Proto value) {
    return bytes(field, value.encode());
  }

  public byte[] encode() {
    return out.toByteArray();
  }

  /** The beginning of a field of so many bytes; always of the same length. */
  static byte[] head(int field, int length) {
    byte[] head = new byte[MAX_HEAD_BYTES];
    head[0] = (byte) ((field << 3) | LENGTH_DELIMITED);
    int rest = length;
    for (int i = 1; i < MAX_HEAD_BYTES; i++, rest >>>= 7) {
      head[i] = (byte) ((rest & 0x7f) | (i < MAX_HEAD_BYTES - 1 ? 0x80 : 0));
    }
    return head;
  }

  private void varint(long value) {
    long rest = value;
    for (; (rest & ~0x7fL) != 0; rest >>>= 7) {
      out.write((int) ((rest & 0x7f) | 0x80));
    }
    out.write((int) rest);
  }

  /** The first field of that number whose content is bytes, text or a message. */
  public static Optional<byte[]> find(byte[] message, int field) {
    int[] at = {0};
    while (at[0] < message.length) {
      long tag = varint(message, at);
      int kind = (int) (tag & 7);
      if (kind == VARINT) {
        varint(message, at);
        continue;
      }
      int length = kind == LENGTH_DELIMITED ? (int) varint(message, at) : kind == 1 ? 8 : 4;
      if (kind == LENGTH_DELIMITED && tag >> 3 == field) {
        return Optional.of(Arrays.copyOfRange(message, at[0], at[0] + length));
      }
      at[0] += length;
    }
    return Optional.empty();
  }

  /** The first field of that number that is text. */
  public static Optional<String> findText(byte[] message, int field) {
    return find(message, field).map(bytes -> new String(bytes, StandardCharsets.UTF_8));
  }

  private static long varint(byte[] message, int[] at) {
    long number = 0;
    for (int shift = 0; ; shift += 7) {
      byte next = message[at[0]++];
      number |= (long) (next & 0x7f) << shift;
      if (next >= 0) {
        return number;
      }
    }
  }
}
