package dev.sluice.broker;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A store whose next write, sync or scan can be made to fail, and whose messages reading. */
final class FaultyStore extends ForwardingStore {
  final AtomicReference<@Nullable StoreException> failWrite = new AtomicReference<>();
  final AtomicReference<@Nullable StoreException> failSync = new AtomicReference<>();
  final AtomicReference<@Nullable StoreException> failScan = new AtomicReference<>();

  /** Keys of messages that cannot be read. */
  final Set<ByteBuffer> unreadable = ConcurrentHashMap.newKeySet();

  /** Writes and syncs after one has failed. */
  final AtomicInteger callsAfterFailure = new AtomicInteger();

  private volatile boolean failed;

  FaultyStore(Store store) {
    super(store);
  }

  private void check(AtomicReference<@Nullable StoreException> failure) {
    if (failed) {
      callsAfterFailure.incrementAndGet();
    }
    StoreException why = failure.getAndSet(null);
    if (why != null) {
      failed = true;
      throw why;
    }
  }

  @Override
  public void write(RowBatch rows) {
    check(failWrite);
    super.write(rows);
  }

  @Override
  public void sync() {
    check(failSync);
    super.sync();
  }

  @Override
  public byte @Nullable [] get(StoreTable table, byte[] key) {
    requireReadable(table, key);
    return super.get(table, key);
  }

  @Override
  public List<byte @Nullable []> getAll(StoreTable table, List<byte[]> keys) {
    keys.forEach(key -> requireReadable(table, key));
    return super.getAll(table, keys);
  }

  @Override
  public void scan(StoreTable table, byte[] from, byte[] to, RowVisitor visitor) {
    StoreException why = failScan.getAndSet(null);
    if (why != null) {
      throw why;
    }
    super.scan(
        table,
        from,
        to,
        (key, value) -> {
          requireReadable(table, key);
          return visitor.row(key, value);
        });
  }

  private void requireReadable(StoreTable table, byte[] key) {
    if (table == StoreTable.MESSAGE && unreadable.contains(ByteBuffer.wrap(key))) {
      throw new StoreException("get: Input/output error", new IOException("EIO"), false);
    }
  }
}
