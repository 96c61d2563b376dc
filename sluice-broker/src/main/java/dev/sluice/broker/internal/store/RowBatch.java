package dev.sluice.broker.internal.store;

import java.util.Arrays;

/**
 * Changes of rows that a {@link Store} applies as one.
 *
 * <p>Kept in the layout of a RocksDB write batch, so that a batch of any size crosses into native
 * code in one call:
 *
 * <pre>
 *   sequence: 8 bytes, 0   count: 4 bytes, little-endian   then for every change
 *   tag: 1 byte   column family: varint   key length: varint   key   [value length: varint   value]
 * </pre>
 */
public final class RowBatch {
  private static final int HEADER_BYTES = 12;
  private static final int COUNT_AT = 8;
  private static final byte PUT = 0x5;
  private static final byte DELETE = 0x4;
  private static final byte SINGLE_DELETE = 0x8;
  private static final int MAX_VARINT_BYTES = 5;

  private byte[] bytes;
  private int length = HEADER_BYTES;
  private int count;

  public RowBatch() {
    this(4096);
  }

  public RowBatch(int expectedBytes) {
    bytes = new byte[HEADER_BYTES + expectedBytes];
  }

  /** Receives the rows of {@link #forEach}. */
  public interface Visitor {
    void put(StoreTable table, byte[] key, byte[] value);

    void delete(StoreTable table, byte[] key);
  }

  public void put(StoreTable table, byte[] key, byte[] value) {
    begin(PUT, table, key, value.length);
    varint(value.length);
    append(value);
  }

  public void delete(StoreTable table, byte[] key) {
    begin(table.writeOnce ? SINGLE_DELETE : DELETE, table, key, 0);
  }

  public int sizeBytes() {
    return length;
  }

  /** The whole batch; a copy. */
  public byte[] toBytes() {
    for (int i = 0; i < Integer.BYTES; i++) {
      bytes[COUNT_AT + i] = (byte) (count >>> (8 * i));
    }
    return Arrays.copyOf(bytes, length);
  }

  /** Changes in the order in which they were made. */
  public void forEach(Visitor visitor) {
    int[] at = {HEADER_BYTES};
    while (at[0] < length) {
      byte tag = bytes[at[0]++];
      StoreTable table = StoreTable.ofColumnFamily(readVarint(at));
      byte[] key = readBytes(at);
      if (tag == PUT) {
        visitor.put(table, key, readBytes(at));
      } else {
        visitor.delete(table, key);
      }
    }
  }

  private void begin(byte tag, StoreTable table, byte[] key, int valueLength) {
    long needed = (long) length + 1 + key.length + valueLength + 3 * MAX_VARINT_BYTES;
    if (needed > Integer.MAX_VALUE - 8) {
      throw new IllegalStateException("a batch must fit into one array: bytes=" + needed);
    }
    if (needed > bytes.length) {
      long twice = Math.min(2L * bytes.length, Integer.MAX_VALUE - 8);
      bytes = Arrays.copyOf(bytes, (int) Math.max(twice, needed));
    }
    bytes[length++] = tag;
    varint(table.columnFamily);
    varint(key.length);
    append(key);
    count++;
  }

  private void append(byte[] part) {
    System.arraycopy(part, 0, bytes, length, part.length);
    length += part.length;
  }

  private void varint(int value) {
    int rest = value;
    while (rest >= 0x80) {
      bytes[length++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[length++] = (byte) rest;
  }

  private int readVarint(int[] at) {
    int value = 0;
    for (int shift = 0; ; shift += 7) {
      byte next = bytes[at[0]++];
      value |= (next & 0x7f) << shift;
      if (next >= 0) {
        return value;
      }
    }
  }

  private byte[] readBytes(int[] at) {
    int size = readVarint(at);
    byte[] read = Arrays.copyOfRange(bytes, at[0], at[0] + size);
    at[0] += size;
    return read;
  }
}
