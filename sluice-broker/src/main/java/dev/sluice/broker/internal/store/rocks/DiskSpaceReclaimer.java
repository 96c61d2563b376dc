package dev.sluice.broker.internal.store.rocks;

import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.util.Threads;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.MutableColumnFamilyOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.TableProperties;

/**
 * Frees the space of deleted messages and, when the disk is nearly full, of logs. RocksDB frees it
 * only as more is written, which a full disk prevents.
 */
final class DiskSpaceReclaimer {
  private static final System.Logger LOG = System.getLogger(DiskSpaceReclaimer.class.getName());
  private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long PERIOD_AFTER_FAILURE_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** After work of this length as many times as long is rest. */
  private static final int REST = 9;

  /** So many messages deleted for one that is left are worth a compaction. */
  private static final int GARBAGE_RATIO = 2;

  /** No message that is left is larger. */
  private static final long MAX_MESSAGE_BYTES = 32L << 20;

  /** Logs and memory are written out when the disk has not so many times as much to spare. */
  private static final int TIGHT = 4;

  private static final long MIN_FLUSH_BYTES = 1L << 20;

  /** With so much free space, compactions are delayed. */
  private static final long ROOMY_BYTES = 8L << 30;

  private final RocksDB db;
  private final List<ColumnFamilyHandle> families;
  private final ColumnFamilyHandle messages;
  private final Path dir;
  private final FileStore disk;
  private final long leastBytes;
  private final FlushOptions flush = new FlushOptions().setWaitForFlush(true);
  private final CompactRangeOptions compaction =
      // Only a flag that was there from the beginning is looked at again.
      new CompactRangeOptions().setExclusiveManualCompaction(false).setCanceled(false);
  private int filesToCompact = RocksOptions.FILES_TO_COMPACT;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread = new Thread(this::run, "sluice-reclaimer");

  /**
   * Starts at once.
   *
   * @param leastBytes table files that are smaller in all are not worth it
   */
  DiskSpaceReclaimer(RocksDB db, List<ColumnFamilyHandle> families, Path dir, long leastBytes)
      throws IOException {
    this.db = db;
    this.families = families;
    this.messages = families.get(StoreTable.MESSAGE.columnFamily);
    this.dir = dir;
    this.disk = Files.getFileStore(dir);
    this.leastBytes = leastBytes;
    thread.setDaemon(true);
    thread.start();
  }

  /** Delayed compactions cost less work, but need more free space at once. */
  private void chooseWhenToCompact() throws RocksDBException, IOException {
    int wanted =
        disk.getUsableSpace() > ROOMY_BYTES
            ? RocksOptions.FILES_TO_COMPACT_WITH_ROOM
            : RocksOptions.FILES_TO_COMPACT;
    if (wanted != filesToCompact) {
      db.setOptions(
          messages,
          MutableColumnFamilyOptions.builder().setLevel0FileNumCompactionTrigger(wanted).build());
      filesToCompact = wanted;
    }
  }

  private void run() {
    try {
      for (long pause = PERIOD_NANOS; !ended.await(pause, TimeUnit.NANOSECONDS); ) {
        pause = work();
      }
    } catch (InterruptedException nobodyDoes) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns how long to rest. */
  private long work() {
    long from = System.nanoTime();
    try {
      chooseWhenToCompact();
      if (isTight()) {
        db.flush(flush, families);
      }
      if (isWorthCompacting()) {
        db.compactRange(messages, null, null, compaction);
      }
      return Math.max(PERIOD_NANOS, REST * (System.nanoTime() - from));
    } catch (RocksDBException | IOException e) {
      if (ended.getCount() > 0) {
        LOG.log(System.Logger.Level.WARNING, "space cannot be released: " + dir, e);
      }
      return PERIOD_AFTER_FAILURE_NANOS;
    }
  }

  /** Whether logs, and what they hold back, matter on this disk. */
  private boolean isTight() throws RocksDBException, IOException {
    long held = unflushedBytes(db);
    for (Path log : WalFiles.in(dir).values()) {
      held += log.toFile().length(); // 0 if it is deleted by now
    }
    return held > MIN_FLUSH_BYTES && disk.getUsableSpace() < TIGHT * held;
  }

  /** Bytes that are in memory and in the log, and in no table file. */
  static long unflushedBytes(RocksDB db) throws RocksDBException {
    return db.getAggregatedLongProperty("rocksdb.cur-size-all-mem-tables");
  }

  /** Whether far more messages are deleted than are left, and there is room to copy the latter. */
  private boolean isWorthCompacting() throws RocksDBException, IOException {
    long tableBytes = number("rocksdb.total-sst-files-size");
    if (tableBytes < leastBytes) {
      return false;
    }
    long rows =
        number("rocksdb.num-entries-active-mem-table")
            + number("rocksdb.num-entries-imm-mem-tables");
    long deletions =
        number("rocksdb.num-deletes-active-mem-table")
            + number("rocksdb.num-deletes-imm-mem-tables");
    for (TableProperties file : db.getPropertiesOfAllTables(messages).values()) {
      rows += file.getNumEntries();
      deletions += file.getNumDeletions();
    }
    // The message that a deletion means is a row as well.
    long left = Math.max(0, rows - 2 * deletions);
    // Those that are left may be the large ones.
    long copied = left < tableBytes / MAX_MESSAGE_BYTES ? left * MAX_MESSAGE_BYTES : tableBytes;
    return deletions >= GARBAGE_RATIO * left && copied < disk.getUsableSpace() / 2;
  }

  private long number(String property) throws RocksDBException {
    return db.getLongProperty(messages, property);
  }

  /** Returns when no more is done. */
  void close() {
    ended.countDown();
    compaction.setCanceled(true);
    Threads.join(thread);
    compaction.close();
    flush.close();
  }
}
