package dev.sluice.broker.internal.store;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads what {@link ByteWriter} wrote. */
public final class ByteReader {
  private final byte[] bytes;
  private int at;

  public ByteReader(byte[] bytes) {
    this.bytes = bytes;
  }

  public int int8() {
    return bytes[at++];
  }

  public int int32() {
    return (int) number(Integer.BYTES);
  }

  public long int64() {
    return number(Long.BYTES);
  }

  public double float64() {
    return Double.longBitsToDouble(int64());
  }

  public long varint() {
    long value = 0;
    for (int shift = 0; ; shift += 7) {
      int next = int8();
      value |= (long) (next & 0x7f) << shift;
      if (next >= 0) {
        return value;
      }
    }
  }

  public int varint32() {
    return (int) varint();
  }

  public String text() {
    int size = varint32();
    String value = new String(bytes, at, size, StandardCharsets.UTF_8);
    at += size;
    return value;
  }

  public boolean hasMore() {
    return at < bytes.length;
  }

  byte[] rest() {
    byte[] rest = Arrays.copyOfRange(bytes, at, bytes.length);
    at = bytes.length;
    return rest;
  }

  private long number(int size) {
    long value = 0;
    for (int i = 0; i < size; i++) {
      value = value << 8 | (bytes[at++] & 0xff);
    }
    return value;
  }
}
