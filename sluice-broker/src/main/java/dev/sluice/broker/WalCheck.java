package dev.sluice.broker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.NavigableMap;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Reads the write-ahead logs before RocksDB does, because RocksDB 11.8.1 takes some damage for a
 * torn last write: a length that leads out of the last block, a header of zeros. One flipped bit in
 * the type of a record keeps it reading for ever.
 *
 * <p>Refuses every damaged record, a batch that is missing between two others, and any end before
 * the place that is known to be synced. A torn write is accepted where it can be one: after that
 * place, and with no batch behind it.
 *
 * <pre>
 *   log:    blocks of 32 KiB, the last one shorter
 *   block:  records; fewer than 7 bytes at its end are padding
 *   record: masked CRC-32C of type and data: 4 bytes   length of data: 2   type: 1   data
 *   batch:  data of one record FULL, or of FIRST, MIDDLE.., LAST; starts with
 *           sequence: 8 bytes   count of changes: 4
 * </pre>
 *
 * All numbers are little-endian.
 */
final class WalCheck {
  private static final int BLOCK_BYTES = 32 << 10;
  private static final int HEADER_BYTES = 7;
  private static final int CRC_MASK = 0xa282ead8;
  private static final int BATCH_HEADER_BYTES = 12;

  private static final int ZERO = 0;
  private static final int FULL = 1;
  private static final int FIRST = 2;
  private static final int MIDDLE = 3;
  private static final int LAST = 4;

  private final ByteBuffer block =
      ByteBuffer.allocate(BLOCK_BYTES).order(ByteOrder.LITTLE_ENDIAN).limit(0);
  private final ByteBuffer batchHeader =
      ByteBuffer.allocate(BATCH_HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final CRC32C crc = new CRC32C();

  // Across logs
  private long nextSequence = -1;
  private @Nullable String torn;

  // Within a log
  private String name = "";
  private long blockAt;
  private boolean inBatch;
  private long endOfBatches;

  private WalCheck() {}

  /** Throws {@link StoreException} unless all that was synced is there and undamaged. */
  static void check(Path dir, @Nullable WalPosition synced) throws IOException {
    NavigableMap<Long, Path> logs = WalFiles.in(dir);
    if (synced != null && logs.tailMap(synced.log(), true).isEmpty()) {
      throw new StoreException(
          "open: the write-ahead log that was synced last is missing: log="
              + synced.log()
              + ": "
              + dir);
    }
    WalCheck check = new WalCheck();
    for (Map.Entry<Long, Path> log : logs.entrySet()) {
      check.read(log.getValue());
      if (synced != null && log.getKey() == synced.log()) {
        check.requireEnd(synced.bytes());
      }
    }
  }

  private void requireEnd(long bytes) {
    if (endOfBatches < bytes) {
      throw new StoreException(
          "open: synced data is missing: " + name + " ends at " + endOfBatches + " not " + bytes);
    }
  }

  private void read(Path file) throws IOException {
    name = file.toString();
    blockAt = 0;
    block.limit(0);
    inBatch = false;
    endOfBatches = 0;
    try (FileChannel log = FileChannel.open(file, StandardOpenOption.READ)) {
      while (nextBlock(log)) {
        if (!readBlock()) {
          requireZeros(log);
          torn = name;
        }
      }
    }
    if (inBatch) {
      torn = name;
    }
  }

  private boolean nextBlock(FileChannel log) throws IOException {
    blockAt += block.limit();
    block.clear();
    while (block.hasRemaining() && log.read(block) >= 0) {
      // Until the block is full or the log ends.
    }
    return block.flip().hasRemaining();
  }

  /** Returns whether the next block is to be read. */
  private boolean readBlock() {
    boolean last = block.limit() < BLOCK_BYTES;
    while (block.remaining() >= HEADER_BYTES) {
      int start = block.position();
      int length = Short.toUnsignedInt(block.getShort(start + 4));
      int type = Byte.toUnsignedInt(block.get(start + 6));
      if (type == ZERO && length == 0) {
        return false;
      }
      int end = start + HEADER_BYTES + length;
      if (end > BLOCK_BYTES) {
        throw damaged("length of a record");
      }
      if (end > block.limit()) {
        torn = name;
        block.position(block.limit());
        return true;
      }
      crc.reset();
      crc.update(block.array(), start + 6, 1 + length);
      if ((int) crc.getValue() != unmask(block.getInt(start))) {
        throw damaged("checksum of a record");
      }
      block.position(start + HEADER_BYTES);
      record(type, length);
      block.position(end);
      if (!inBatch) {
        endOfBatches = blockAt + end;
      }
    }
    if (last && block.hasRemaining()) {
      torn = name;
    }
    return true;
  }

  private void record(int type, int length) {
    switch (type) {
      case FULL, FIRST -> requireFragment(!inBatch);
      case MIDDLE, LAST -> requireFragment(inBatch);
      default -> {
        // A kind of record that holds no batch; RocksDB knows what to do with it.
        return;
      }
    }
    if (type == FULL || type == FIRST) {
      batchHeader.clear();
    }
    int part = Math.min(length, batchHeader.remaining());
    batchHeader.put(block.slice(block.position(), part));
    inBatch = type == FIRST || type == MIDDLE;
    if (!inBatch) {
      batch();
    }
  }

  private void requireFragment(boolean expected) {
    if (!expected) {
      throw damaged("order of records");
    }
  }

  private void batch() {
    if (torn != null) {
      throw damaged("a batch follows the torn end of " + torn);
    }
    if (batchHeader.hasRemaining()) {
      throw damaged("a batch without a header");
    }
    long sequence = batchHeader.getLong(0);
    if (nextSequence >= 0 && sequence != nextSequence) {
      throw damaged("batches are missing: sequence=" + sequence + " not " + nextSequence);
    }
    nextSequence = sequence + Integer.toUnsignedLong(batchHeader.getInt(Long.BYTES));
  }

  /** A file system may leave zeros where a write did not arrive, but nothing behind them. */
  private void requireZeros(FileChannel log) throws IOException {
    do {
      while (block.hasRemaining()) {
        if (block.get() != 0) {
          throw damaged("zeros in the midst");
        }
      }
    } while (nextBlock(log));
  }

  private StoreException damaged(String what) {
    return new StoreException(
        "open: damaged write-ahead log: "
            + what
            + ": "
            + name
            + " at "
            + (blockAt + block.position()));
  }

  private static int unmask(int masked) {
    return Integer.rotateLeft(masked - CRC_MASK, 15);
  }
}
