package dev.sluice.broker;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A store in memory that forgets at a {@link #crash} some of what was written but not synced.
 *
 * <p>Not thread-safe, as everything in a simulation runs on one thread: a sync during which others
 * write is a {@link #beginSync} and a later {@link #endSync}.
 */
final class SimStore implements Store {
  /** The rows that survive a crash. */
  private final Tables durable;

  /** The rows that readers see: durable and, on top of them, unsynced. */
  private final Tables visible;

  /** Batches not yet durable, oldest first. */
  private final List<RowBatch> unsynced = new ArrayList<>();

  private int syncing;
  private boolean failNextWrite;
  private boolean failNextSync;
  private boolean failed;
  private boolean closed;
  private long freeBytes = Long.MAX_VALUE;

  SimStore() {
    this(new Tables());
  }

  private SimStore(Tables durable) {
    this.durable = durable;
    this.visible = new Tables(durable);
  }

  /** Ends the machine: a random number of the newest unsynced batches is lost. */
  SimStore crash(Random random) {
    return survivor(random.nextInt(unsynced.size() + 1));
  }

  /** Ends the process alone: what was written is kept. */
  SimStore reopen() {
    if (failed) {
      throw new IllegalStateException("what a failed store holds is open until it crashes");
    }
    return survivor(unsynced.size());
  }

  private SimStore survivor(int batches) {
    closed = true;
    Tables rows = new Tables(durable);
    unsynced.subList(0, batches).forEach(rows::apply);
    return new SimStore(rows);
  }

  /** The next write fails; its batch may nevertheless be there after a crash. */
  void failNextWrite() {
    failNextWrite = true;
  }

  /** The next sync fails; any of what it should have made durable may be lost at a crash. */
  void failNextSync() {
    failNextSync = true;
  }

  void freeBytes(long bytes) {
    freeBytes = bytes;
  }

  @Override
  public void write(RowBatch rows) {
    requireIntact("write");
    RowBatch batch = copy(rows);
    unsynced.add(batch);
    if (failNextWrite) {
      failed = true;
      throw new StoreException("write: told to fail");
    }
    visible.apply(batch);
  }

  @Override
  public void sync() {
    beginSync();
    endSync();
  }

  /** Rows written so far become durable by {@link #endSync}. */
  void beginSync() {
    requireIntact("sync");
    syncing = unsynced.size();
  }

  void endSync() {
    requireIntact("sync");
    if (failNextSync) {
      failed = true;
      throw new StoreException("sync: told to fail");
    }
    List<RowBatch> synced = unsynced.subList(0, syncing);
    synced.forEach(durable::apply);
    synced.clear();
    syncing = 0;
  }

  @Override
  public byte @Nullable [] get(StoreTable table, byte[] key) {
    requireOpen("get");
    byte[] value = visible.of(table).get(key);
    return value == null ? null : value.clone();
  }

  @Override
  public List<byte @Nullable []> getAll(StoreTable table, List<byte[]> keys) {
    requireOpen("getAll");
    List<byte @Nullable []> values = new ArrayList<>();
    keys.forEach(key -> values.add(get(table, key)));
    return values;
  }

  @Override
  public void scan(StoreTable table, byte[] from, byte[] to, RowVisitor visitor) {
    requireOpen("scan");
    if (Arrays.compareUnsigned(from, to) >= 0) {
      return;
    }
    // A copy: the visitor may write, and is not shown what it wrote.
    for (var row : new TreeMap<>(visible.of(table).subMap(from, true, to, false)).entrySet()) {
      if (!visitor.row(row.getKey().clone(), row.getValue().clone())) {
        return;
      }
    }
  }

  @Override
  public long freeBytes() {
    return freeBytes;
  }

  @Override
  public void close() {
    closed = true;
  }

  private void requireIntact(String operation) {
    requireOpen(operation);
    if (failed) {
      throw new StoreException(operation + ": the store failed before");
    }
  }

  private void requireOpen(String operation) {
    if (closed) {
      throw new StoreException(operation + ": the store is closed");
    }
  }

  private static RowBatch copy(RowBatch rows) {
    RowBatch copy = new RowBatch();
    rows.forEach(
        new RowBatch.Visitor() {
          @Override
          public void put(StoreTable table, byte[] key, byte[] value) {
            copy.put(table, key, value);
          }

          @Override
          public void delete(StoreTable table, byte[] key) {
            copy.delete(table, key);
          }
        });
    return copy;
  }

  /** The rows of all tables, which hold callers to the rule of write-once tables. */
  private static final class Tables implements RowBatch.Visitor {
    private final Map<StoreTable, NavigableMap<byte[], byte[]>> rows =
        new EnumMap<>(StoreTable.class);
    private final Map<StoreTable, TreeSet<byte[]>> everPut = new EnumMap<>(StoreTable.class);

    Tables() {
      for (StoreTable table : StoreTable.values()) {
        rows.put(table, new TreeMap<>(Arrays::compareUnsigned));
        everPut.put(table, new TreeSet<>(Arrays::compareUnsigned));
      }
    }

    Tables(Tables other) {
      other.rows.forEach((table, content) -> rows.put(table, new TreeMap<>(content)));
      other.everPut.forEach((table, keys) -> everPut.put(table, new TreeSet<>(keys)));
    }

    NavigableMap<byte[], byte[]> of(StoreTable table) {
      return rows.get(table);
    }

    void apply(RowBatch batch) {
      batch.forEach(this);
    }

    @Override
    public void put(StoreTable table, byte[] key, byte[] value) {
      if (table.writeOnce && !everPut.get(table).add(key)) {
        throw new AssertionError(table + ": put twice: " + Arrays.toString(key));
      }
      of(table).put(key, value);
    }

    @Override
    public void delete(StoreTable table, byte[] key) {
      byte[] removed = of(table).remove(key);
      if (table.writeOnce && removed == null) {
        throw new AssertionError(table + ": deleted without a row: " + Arrays.toString(key));
      }
    }
  }
}
