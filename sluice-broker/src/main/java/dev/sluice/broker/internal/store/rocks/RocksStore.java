package dev.sluice.broker.internal.store.rocks;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.TickerType;
import org.rocksdb.WriteBatch;

/**
 * A {@link Store} in a directory, kept by RocksDB: every batch goes to a write-ahead log and to
 * memory, later to table files.
 *
 * <p>Thread-safe. Damage that is found when opening is a {@link StoreException}; nothing is skipped
 * or repaired.
 */
public final class RocksStore implements Store {
  static final String ALREADY_OPEN =
      "open: the store is already open; close it there, or use another directory";

  /** Space for opening besides the content of the logs, and for the first writes after it. */
  private static final long OPENING_BYTES = 8L << 20;

  /*
   * Use of a native handle after its release ends the JVM, so every operation holds `open` for
   * reading and close() takes it for writing. Operations do not exclude each other: a write does
   * not wait for a sync under way.
   */
  private final ReentrantReadWriteLock open = new ReentrantReadWriteLock();
  private final Path dir;
  private final FileStore fileStore;
  private final RocksOptions options;
  private final RocksDB db;
  private final ColumnFamilyHandle[] families;
  private final DiskSpaceReclaimer reclaimer;
  private boolean closed;

  /** Set by the first failed write or sync: a second sync would report success without one. */
  private volatile @Nullable StoreException failure;

  // Guarded by `writing`, but `written` is read without it.
  private final Object writing = new Object();
  private final WalFiles.Tail tail;
  private volatile WalPosition written;

  // Guarded by `syncing`, but `durable` is read without it.
  private final Object syncing = new Object();
  private final SyncMarkerFile mark;
  private volatile WalPosition durable;

  private RocksStore(
      Path dir,
      RocksOptions options,
      RocksDB db,
      List<ColumnFamilyHandle> families,
      SyncMarkerFile mark,
      DiskSpaceReclaimer reclaimer)
      throws IOException {
    this.dir = dir;
    this.fileStore = Files.getFileStore(dir);
    this.options = options;
    this.db = db;
    this.families = families.toArray(new ColumnFamilyHandle[0]);
    this.mark = mark;
    this.reclaimer = reclaimer;
    this.tail = new WalFiles.Tail(dir);
    this.written = tail.position();
    this.durable = written;
  }

  /** Opens the store in {@code dir}, which is made if there is none. */
  public static RocksStore open(Path dir) {
    return open(dir, RocksSettings.DEFAULT);
  }

  public static RocksStore open(Path dir, RocksSettings settings) {
    Deque<AutoCloseable> opened = new ArrayDeque<>();
    try {
      return open(dir, settings, opened);
    } catch (IOException e) {
      release(opened, e);
      throw new StoreException(
          "open: cannot use the directory: " + dir + ": " + reason(e), e, DiskFullCause.isCause(e));
    } catch (RocksDBException e) {
      release(opened, e);
      throw new StoreException(reason(e) + ": " + dir, e, DiskFullCause.isCause(e));
    } catch (RuntimeException | Error e) {
      release(opened, e);
      throw e;
    }
  }

  private static RocksStore open(Path dir, RocksSettings settings, Deque<AutoCloseable> opened)
      throws IOException, RocksDBException {
    StoreDirectory.prepare(dir);
    SyncMarkerFile mark = SyncMarkerFile.open(dir);
    opened.push(mark);
    ManifestFile.check(dir, mark.closed());
    WalVerifier.check(dir, mark.synced());
    RocksOptions options = new RocksOptions(dir, settings);
    opened.push(options);
    List<ColumnFamilyHandle> families = new ArrayList<>();
    RocksDB db = RocksDB.open(options.database, dir.toString(), options.families, families);
    opened.push(db);
    for (StoreTable table : StoreTable.values()) {
      int id = families.get(table.columnFamily).getID();
      if (id != table.columnFamily) {
        throw new StoreException(
            "open: " + table + " must be column family " + table.columnFamily + ", but was " + id);
      }
    }
    if (settings.verifyTables()) {
      db.verifyChecksum();
    }
    DiskSpaceReclaimer reclaimer =
        new DiskSpaceReclaimer(db, families, dir, settings.messageBufferBytes());
    opened.push(reclaimer::close);
    RocksStore store = new RocksStore(dir, options, db, families, mark, reclaimer);
    // Recovered rows are in table files now: from here on the marker is about the new log.
    store.sync();
    return store;
  }

  /** Returns whether the disk has the space that opening the store in {@code dir} takes. */
  public static boolean hasSpaceToOpen(Path dir) {
    try {
      // The content of the logs is written to table files.
      long needed = OPENING_BYTES;
      for (Path log : WalFiles.in(dir).values()) {
        needed += log.toFile().length();
      }
      return Files.getFileStore(dir).getUsableSpace() >= needed;
    } catch (IOException unreadable) {
      // Opening the store reports the damage.
      return true;
    }
  }

  /** Closes the newest first. */
  private static void release(Iterable<AutoCloseable> opened, Throwable reason) {
    for (AutoCloseable resource : opened) {
      try {
        resource.close();
      } catch (Exception e) {
        reason.addSuppressed(e);
      }
    }
  }

  /** Without the name of the directory, which the message of some begins with. */
  private static String reason(IOException e) {
    if (e instanceof FileAlreadyExistsException) {
      return "it is not a directory";
    }
    if (e instanceof AccessDeniedException) {
      return "permission denied";
    }
    return e instanceof FileSystemException system && system.getReason() != null
        ? system.getReason()
        : String.valueOf(e.getMessage());
  }

  private static String reason(RocksDBException e) {
    String message = String.valueOf(e.getMessage());
    if (message.contains("LOCK") || message.contains("lock hold by current process")) {
      return ALREADY_OPEN;
    }
    return "open: " + message;
  }

  @Override
  public void write(RowBatch rows) {
    Lock held = hold("write");
    try (WriteBatch batch = new WriteBatch(rows.toBytes())) {
      requireIntact("write");
      synchronized (writing) {
        append(batch);
      }
    } finally {
      held.unlock();
    }
  }

  private void append(WriteBatch batch) {
    try {
      db.write(options.write, batch);
      written = tail.advance();
    } catch (RocksDBException | IOException e) {
      throw fail("write", e);
    }
  }

  @Override
  public void sync() {
    Lock held = hold("sync");
    try {
      requireIntact("sync");
      flushWal();
    } catch (RocksDBException | IOException e) {
      synchronized (writing) {
        // A failed write makes a concurrent sync fail as well, but its error says more.
        requireIntact("sync");
      }
      throw fail("sync", e);
    } finally {
      held.unlock();
    }
  }

  private void flushWal() throws RocksDBException, IOException {
    synchronized (syncing) {
      WalPosition reached = written;
      db.flushWal(true);
      durable = reached;
      mark.write(reached);
    }
  }

  /** Where a loss of power would cut the log at the earliest: everything before was synced. */
  public WalPosition durable() {
    return durable;
  }

  /** How often RocksDB has synced a log, by its own count. */
  public long logSyncs() {
    Lock held = hold("logSyncs");
    try {
      return options.statistics.getTickerCount(TickerType.WAL_FILE_SYNCED);
    } finally {
      held.unlock();
    }
  }

  @Override
  public byte @Nullable [] get(StoreTable table, byte[] key) {
    Lock held = hold("get");
    try {
      return db.get(families[table.columnFamily], options.read, key);
    } catch (RocksDBException e) {
      throw failed("get", e);
    } finally {
      held.unlock();
    }
  }

  @Override
  public List<byte @Nullable []> getAll(StoreTable table, List<byte[]> keys) {
    Lock held = hold("getAll");
    try {
      List<byte @Nullable []> values = new ArrayList<>(keys.size());
      if (!keys.isEmpty()) {
        ColumnFamilyHandle family = families[table.columnFamily];
        values.addAll(
            db.multiGetAsList(options.read, Collections.nCopies(keys.size(), family), keys));
        // A row that cannot be read is null there as well; a single read reports that.
        for (int i = 0; i < values.size(); i++) {
          if (values.get(i) == null) {
            values.set(i, db.get(family, options.read, keys.get(i)));
          }
        }
      }
      return values;
    } catch (RocksDBException e) {
      throw failed("getAll", e);
    } finally {
      held.unlock();
    }
  }

  @Override
  public void scan(StoreTable table, byte[] from, byte[] to, RowVisitor visitor) {
    if (Arrays.compareUnsigned(from, to) >= 0) {
      return;
    }
    Lock held = hold("scan");
    // RocksDB reads ahead by itself, further the longer a scan goes on.
    try (Slice end = new Slice(to);
        ReadOptions bounded = new ReadOptions().setIterateUpperBound(end).setFillCache(false);
        RocksIterator rows = db.newIterator(families[table.columnFamily], bounded)) {
      rows.seek(from);
      while (rows.isValid() && visitor.row(rows.key(), rows.value())) {
        rows.next();
      }
      rows.status();
    } catch (RocksDBException e) {
      throw failed("scan", e);
    } finally {
      held.unlock();
    }
  }

  @Override
  public long freeBytes() {
    Lock held = hold("freeBytes");
    try {
      // Rows in memory are in the log, and will be in a table file as well.
      return fileStore.getUsableSpace() - DiskSpaceReclaimer.unflushedBytes(db);
    } catch (RocksDBException | IOException e) {
      throw failed("freeBytes", e);
    } finally {
      held.unlock();
    }
  }

  /** Waits for operations under way; syncs first, unless a write or a sync has failed. */
  @Override
  public void close() {
    if (open.getReadHoldCount() > 0) {
      throw new IllegalStateException("a visitor must not close the store that it visits");
    }
    open.writeLock().lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      reclaimer.close();
      release();
    } catch (RocksDBException | IOException e) {
      throw failed("close", e);
    } finally {
      open.writeLock().unlock();
    }
  }

  private void release() throws RocksDBException, IOException {
    try (mark;
        options) {
      try (db) {
        if (failure == null) {
          flushWal();
        }
      }
      if (failure == null) {
        mark.writeClosed(durable, ManifestFile.in(dir));
      }
    }
  }

  /** Keeps the store from being closed until the lock that is returned is released. */
  private Lock hold(String operation) {
    Lock held = open.readLock();
    held.lock();
    if (closed) {
      held.unlock();
      throw new StoreException(operation + ": the store is closed: " + dir);
    }
    return held;
  }

  private void requireIntact(String operation) {
    StoreException earlier = failure;
    if (earlier != null) {
      throw new StoreException(
          operation + ": the store failed before: " + earlier.getMessage(), earlier);
    }
  }

  private StoreException fail(String operation, Exception cause) {
    StoreException failed = failed(operation, cause);
    failure = failed;
    return failed;
  }

  private StoreException failed(String operation, Exception cause) {
    return new StoreException(
        operation + ": " + cause.getMessage() + ": " + dir, cause, DiskFullCause.isCause(cause));
  }
}
