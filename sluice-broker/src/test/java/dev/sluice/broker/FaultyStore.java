package dev.sluice.broker;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A store whose next write, sync or scan fails as told; what came before is in the real one. */
final class FaultyStore implements Store {
  private final Store store;
  final AtomicReference<@Nullable StoreException> failWrite = new AtomicReference<>();
  final AtomicReference<@Nullable StoreException> failSync = new AtomicReference<>();

  final AtomicReference<@Nullable StoreException> failScan = new AtomicReference<>();

  /** Writes and syncs that were asked for after one has failed. */
  final AtomicInteger askedAgain = new AtomicInteger();

  private volatile boolean failed;

  FaultyStore(Store store) {
    this.store = store;
  }

  private void check(AtomicReference<@Nullable StoreException> failure) {
    if (failed) {
      askedAgain.incrementAndGet();
    }
    StoreException why = failure.getAndSet(null);
    if (why != null) {
      failed = true;
      throw why;
    }
  }

  @Override
  public void write(Rows rows) {
    check(failWrite);
    store.write(rows);
  }

  @Override
  public void sync() {
    check(failSync);
    store.sync();
  }

  @Override
  public byte @Nullable [] get(Table table, byte[] key) {
    return store.get(table, key);
  }

  @Override
  public List<byte @Nullable []> getAll(Table table, List<byte[]> keys) {
    return store.getAll(table, keys);
  }

  @Override
  public void scan(Table table, byte[] from, byte[] to, RowVisitor visitor) {
    StoreException why = failScan.getAndSet(null);
    if (why != null) {
      throw why;
    }
    store.scan(table, from, to, visitor);
  }

  @Override
  public long freeBytes() {
    return store.freeBytes();
  }

  @Override
  public void close() {
    store.close();
  }
}
