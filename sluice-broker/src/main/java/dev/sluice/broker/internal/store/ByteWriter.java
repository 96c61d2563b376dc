package dev.sluice.broker.internal.store;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes what {@link ByteReader} reads. Numbers are big-endian, so that keys sort as they count.
 */
public final class ByteWriter {
  private byte[] bytes;
  private int length;

  public ByteWriter(int expected) {
    this.bytes = new byte[expected];
  }

  public ByteWriter int8(int value) {
    reserve(1);
    bytes[length++] = (byte) value;
    return this;
  }

  public ByteWriter int32(int value) {
    return number(value, Integer.BYTES);
  }

  public ByteWriter int64(long value) {
    return number(value, Long.BYTES);
  }

  public ByteWriter float64(double value) {
    return int64(Double.doubleToRawLongBits(value));
  }

  /** Seven bits a byte, the lowest first; the top bit says that more follow. */
  public ByteWriter varint(long value) {
    long rest = value;
    while ((rest & ~0x7fL) != 0) {
      int8((int) rest | 0x80);
      rest >>>= 7;
    }
    return int8((int) rest);
  }

  /** With its length before it. */
  public ByteWriter text(String value) {
    byte[] encoded = value.getBytes(StandardCharsets.UTF_8);
    varint(encoded.length);
    return raw(encoded);
  }

  public ByteWriter raw(byte[] part) {
    reserve(part.length);
    System.arraycopy(part, 0, bytes, length, part.length);
    length += part.length;
    return this;
  }

  public byte[] toBytes() {
    return length == bytes.length ? bytes : Arrays.copyOf(bytes, length);
  }

  private ByteWriter number(long value, int size) {
    reserve(size);
    for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) {
      bytes[length++] = (byte) (value >>> shift);
    }
    return this;
  }

  private void reserve(int more) {
    if (length + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
    }
  }
}
