package dev.sluice.broker.internal.store.rocks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.DELETE_ON_CLOSE;
import static java.nio.file.StandardOpenOption.WRITE;

import com.sun.nio.file.ExtendedOpenOption;
import dev.sluice.broker.internal.store.StoreTable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.Filter;
import org.rocksdb.HistogramType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;
import org.rocksdb.TablePropertiesCollectorFactory;
import org.rocksdb.WALRecoveryMode;
import org.rocksdb.WriteOptions;

/** The options of a {@link RocksStore}; docs/storage.md has the reason of each. */
final class RocksOptions implements AutoCloseable {
  private static final long MIB = 1L << 20;

  private static final long BLOCK_CACHE_BYTES = 64 * MIB;
  private static final long BLOCK_BYTES = 32L << 10;
  private static final long STATE_BUFFER_BYTES = 16 * MIB;
  private static final long OTHER_BUFFER_BYTES = 4 * MIB;

  /** One fills, one is flushed, one waits; a writer that is faster than that has to wait. */
  private static final int BUFFERS = 3;

  /** Bounds the replay at the next open, and the logs that a quiet table keeps. */
  private static final long WAL_BYTES = 256 * MIB;

  /** Bounds the free space that it takes to compact new files. */
  static final int FILES_TO_COMPACT = 8;

  /** The same for messages while space is free: most are deleted before a compaction. */
  static final int FILES_TO_COMPACT_WITH_ROOM = 24;

  /** Bounds the bytes rewritten at once, and so the free space that this needs. */
  private static final long COMPACTION_BYTES = 256 * MIB;

  /** A table file is compacted when half of this many neighboring rows are deletions. */
  private static final int DELETION_WINDOW = 4096;

  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  final Statistics statistics;
  final DBOptions database;
  final List<ColumnFamilyDescriptor> families = new ArrayList<>();
  final WriteOptions write;
  final ReadOptions read;

  RocksOptions(Path dir, RocksSettings settings) {
    NativeLibrary.load();
    // Counters only: they cost nothing that could be measured, timers do.
    statistics = closing(new Statistics(EnumSet.allOf(HistogramType.class)));
    database =
        database().setStatistics(statistics).setUseDirectIoForFlushAndCompaction(hasDirectIo(dir));
    write = closing(new WriteOptions().setSync(false).setDisableWAL(false));
    read = closing(new ReadOptions());
    Cache cache = closing(new LRUCache(BLOCK_CACHE_BYTES));
    Filter filter = closing(new BloomFilter(10));
    TablePropertiesCollectorFactory deletions =
        closing(
            TablePropertiesCollectorFactory.NewCompactOnDeletionCollectorFactory(
                DELETION_WINDOW, DELETION_WINDOW / 2, 0.5));
    families.add(
        new ColumnFamilyDescriptor(
            RocksDB.DEFAULT_COLUMN_FAMILY,
            family(OTHER_BUFFER_BYTES, cache, filter, List.of(deletions))));
    for (StoreTable table : StoreTable.values()) {
      families.add(
          new ColumnFamilyDescriptor(
              name(table),
              family(
                  bufferBytes(table, settings),
                  cache,
                  filter,
                  table == StoreTable.MESSAGE ? List.of() : List.of(deletions))));
    }
  }

  /** Whether the file system of {@code dir} takes writes past its cache. */
  private static boolean hasDirectIo(Path dir) {
    Path probe = dir.resolve("direct-io.probe");
    try (FileChannel opened =
        FileChannel.open(probe, CREATE, WRITE, DELETE_ON_CLOSE, ExtendedOpenOption.DIRECT)) {
      return opened.isOpen();
    } catch (IOException | UnsupportedOperationException none) {
      return false;
    }
  }

  private static byte[] name(StoreTable table) {
    return table.name().toLowerCase(Locale.ROOT).getBytes(UTF_8);
  }

  private static long bufferBytes(StoreTable table, RocksSettings settings) {
    return switch (table) {
      case MESSAGE -> settings.messageBufferBytes();
      case STATE -> STATE_BUFFER_BYTES;
      default -> OTHER_BUFFER_BYTES;
    };
  }

  private DBOptions database() {
    Properties withoutSetter = new Properties();
    withoutSetter.setProperty("track_and_verify_wals_in_manifest", "true");
    return closing(DBOptions.getDBOptionsFromProps(withoutSetter))
        .setCreateIfMissing(true)
        .setCreateMissingColumnFamilies(true)
        .setWalRecoveryMode(WALRecoveryMode.TolerateCorruptedTailRecords)
        .setRecycleLogFileNum(0)
        .setManualWalFlush(false)
        .setMaxTotalWalSize(WAL_BYTES)
        .setMaxBgErrorResumeCount(0)
        .setParanoidChecks(true)
        .setAllowFAllocate(false)
        .setMaxBackgroundJobs(2)
        .setMaxOpenFiles(512)
        .setBytesPerSync(MIB)
        .setStatsDumpPeriodSec(0)
        .setStatsPersistPeriodSec(0)
        .setMaxLogFileSize(4 * MIB)
        .setKeepLogFileNum(4);
  }

  private ColumnFamilyOptions family(
      long bufferBytes,
      Cache cache,
      Filter filter,
      List<TablePropertiesCollectorFactory> collectors) {
    BlockBasedTableConfig format =
        new BlockBasedTableConfig()
            .setBlockCache(cache)
            .setBlockSize(BLOCK_BYTES)
            .setCacheIndexAndFilterBlocks(true)
            .setPinL0FilterAndIndexBlocksInCache(true)
            .setFilterPolicy(filter);
    // Only Options takes a collector; the options of a column family are a copy of it.
    Options options = closing(new Options());
    options.setTablePropertiesCollectorFactory(collectors);
    return closing(new ColumnFamilyOptions(options))
        .setTableFormatConfig(format)
        .setWriteBufferSize(bufferBytes)
        .setMaxWriteBufferNumber(BUFFERS)
        .setLevel0FileNumCompactionTrigger(FILES_TO_COMPACT)
        .setMaxCompactionBytes(COMPACTION_BYTES)
        .setLevel0SlowdownWritesTrigger(3 * FILES_TO_COMPACT_WITH_ROOM)
        .setLevel0StopWritesTrigger(4 * FILES_TO_COMPACT_WITH_ROOM)
        .setCompressionType(CompressionType.LZ4_COMPRESSION);
  }

  private <T extends AutoCloseable> T closing(T resource) {
    open.push(resource);
    return resource;
  }

  @Override
  public void close() {
    for (AutoCloseable resource : open) {
      try {
        resource.close();
      } catch (Exception e) {
        throw new IllegalStateException("a native handle cannot be released", e);
      }
    }
    open.clear();
  }
}
