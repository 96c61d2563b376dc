package dev.sluice.broker;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.TableProperties;

/**
 * Gives the space of deleted messages back. RocksDB by itself does so as more is written: after a
 * queue was drained nothing may be.
 */
final class Reclaimer {
  private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** After work of this length as many times as long is rest. */
  private static final int REST = 9;

  /** So many messages deleted for one that is left are worth a compaction. */
  private static final int GARBAGE_RATIO = 2;

  private final RocksDB db;
  private final ColumnFamilyHandle messages;
  private final long leastBytes;
  private final CompactRangeOptions options = new CompactRangeOptions();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread = new Thread(this::run, "sluice-reclaimer");

  /**
   * Starts at once.
   *
   * @param leastBytes table files that are smaller in all are not worth it
   */
  Reclaimer(RocksDB db, ColumnFamilyHandle messages, long leastBytes) {
    this.db = db;
    this.messages = messages;
    this.leastBytes = leastBytes;
    options.setExclusiveManualCompaction(false);
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    try {
      long pause = PERIOD_NANOS;
      while (!ended.await(pause, TimeUnit.NANOSECONDS)) {
        long from = System.nanoTime();
        if (isMostlyGarbage()) {
          db.compactRange(messages, null, null, options);
        }
        pause = Math.max(PERIOD_NANOS, REST * (System.nanoTime() - from));
      }
    } catch (InterruptedException | RocksDBException e) {
      // Cancelled, or the disk failed: then the next write says so.
      Thread.currentThread().interrupt();
    }
  }

  /** Whether far more messages are deleted than are left. */
  private boolean isMostlyGarbage() throws RocksDBException {
    if (number("rocksdb.total-sst-files-size") < leastBytes) {
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
    long left = rows - 2 * deletions;
    return deletions >= GARBAGE_RATIO * left;
  }

  private long number(String property) throws RocksDBException {
    return db.getLongProperty(messages, property);
  }

  /** Returns when no more is done. */
  void close() {
    ended.countDown();
    options.setCanceled(true);
    Committer.join(thread);
    options.close();
  }
}
