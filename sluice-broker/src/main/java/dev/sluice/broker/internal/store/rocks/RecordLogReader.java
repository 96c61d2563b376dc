package dev.sluice.broker.internal.store.rocks;

import dev.sluice.broker.internal.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/**
 * Reads a file of records as RocksDB writes them: a write-ahead log or a manifest.
 *
 * <p>RocksDB 11.8.1 itself takes some damage for a torn last write: a length that leads out of the
 * last block, a header of zeros. One flipped bit in a type keeps it reading for ever.
 *
 * <pre>
 *   file:     blocks of 32 KiB, the last one shorter
 *   block:    fragments; fewer than 7 bytes at its end are padding
 *   fragment: masked CRC-32C of type and data: 4 bytes   length of data: 2   type: 1   data
 *   record:   the data of one fragment FULL, or of FIRST, MIDDLE.., LAST
 * </pre>
 *
 * All numbers are little-endian.
 */
final class RecordLogReader {
  private static final int BLOCK_BYTES = 32 << 10;
  private static final int HEADER_BYTES = 7;
  private static final int CRC_MASK = 0xa282ead8;

  private static final int ZERO = 0;
  private static final int FULL = 1;
  private static final int FIRST = 2;
  private static final int MIDDLE = 3;
  private static final int LAST = 4;

  /** How many bytes of a record are shown to a {@link Visitor}: the header of a write batch. */
  static final int START_BYTES = 12;

  /** Receives the records of {@link #read}. */
  interface Visitor {
    /** The first bytes of the next record, {@link #START_BYTES} if it has as many. */
    void record(ByteBuffer start);
  }

  /**
   * The end of a file.
   *
   * @param bytes where its last whole record ends
   * @param torn whether a part of a record follows, or zeros
   */
  record End(long bytes, boolean torn) {}

  private final Path file;
  private final Visitor visitor;
  private final ByteBuffer block =
      ByteBuffer.allocate(BLOCK_BYTES).order(ByteOrder.LITTLE_ENDIAN).limit(0);
  private final ByteBuffer start = ByteBuffer.allocate(START_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final CRC32C crc = new CRC32C();
  private long blockAt;
  private boolean inRecord;
  private boolean torn;
  private long end;

  private RecordLogReader(Path file, Visitor visitor) {
    this.file = file;
    this.visitor = visitor;
  }

  /** Throws {@link StoreException} for anything but whole records and a torn end. */
  static End read(Path file, Visitor visitor) throws IOException {
    RecordLogReader reader = new RecordLogReader(file, visitor);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      while (!reader.torn && reader.nextBlock(channel)) {
        reader.readBlock();
      }
      if (reader.block.hasRemaining() && reader.atZeros()) {
        reader.requireZeros(channel);
      }
    }
    return new End(reader.end, reader.torn || reader.inRecord);
  }

  private boolean nextBlock(FileChannel channel) throws IOException {
    blockAt += block.limit();
    block.clear();
    while (block.hasRemaining() && channel.read(block) >= 0) {
      // Until the block is full or the file ends.
    }
    return block.flip().hasRemaining();
  }

  private void readBlock() {
    while (!torn && block.remaining() >= HEADER_BYTES) {
      int at = block.position();
      int next = at + HEADER_BYTES + Short.toUnsignedInt(block.getShort(at + 4));
      if (next > BLOCK_BYTES) {
        throw damaged("length");
      }
      if (atZeros() || next > block.limit()) {
        torn = true;
      } else {
        fragment(at, next);
      }
    }
    if (block.limit() < BLOCK_BYTES && block.hasRemaining()) {
      torn = true;
    }
  }

  /** Whether a header of zeros comes next, which no writer leaves. */
  private boolean atZeros() {
    int at = block.position();
    return block.remaining() >= HEADER_BYTES
        && block.getShort(at + 4) == 0
        && block.get(at + 6) == ZERO;
  }

  private void fragment(int at, int next) {
    int data = at + HEADER_BYTES;
    crc.reset();
    crc.update(block.array(), data - 1, next - data + 1);
    if ((int) crc.getValue() != Integer.rotateLeft(block.getInt(at) - CRC_MASK, 15)) {
      throw damaged("checksum");
    }
    int type = block.get(data - 1);
    if (type >= FULL && type <= LAST) {
      if (inRecord == (type == FULL || type == FIRST)) {
        throw damaged("order of fragments");
      }
      if (!inRecord) {
        start.clear();
      }
      start.put(block.slice(data, Math.min(next - data, start.remaining())));
      inRecord = type == FIRST || type == MIDDLE;
      if (!inRecord) {
        visitor.record(start.flip());
      }
    }
    block.position(next);
    if (!inRecord) {
      end = blockAt + next;
    }
  }

  /** A file system may leave zeros where a write did not arrive, but nothing behind them. */
  private void requireZeros(FileChannel channel) throws IOException {
    do {
      while (block.hasRemaining()) {
        if (block.get() != 0) {
          throw damaged("zeros before the end");
        }
      }
    } while (nextBlock(channel));
  }

  private StoreException damaged(String what) {
    long at = blockAt + block.position();
    return new StoreException("open: damaged: " + what + ": " + file + " at " + at);
  }
}
