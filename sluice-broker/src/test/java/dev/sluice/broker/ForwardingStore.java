package dev.sluice.broker;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreTable;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Forwards every call to another store; subclasses change some of them. */
abstract class ForwardingStore implements Store {
  private final Store delegate;

  ForwardingStore(Store delegate) {
    this.delegate = delegate;
  }

  @Override
  public void write(RowBatch rows) {
    delegate.write(rows);
  }

  @Override
  public void sync() {
    delegate.sync();
  }

  @Override
  public byte @Nullable [] get(StoreTable table, byte[] key) {
    return delegate.get(table, key);
  }

  @Override
  public List<byte @Nullable []> getAll(StoreTable table, List<byte[]> keys) {
    return delegate.getAll(table, keys);
  }

  @Override
  public void scan(StoreTable table, byte[] from, byte[] to, RowVisitor visitor) {
    delegate.scan(table, from, to, visitor);
  }

  @Override
  public long freeBytes() {
    return delegate.freeBytes();
  }

  @Override
  public void close() {
    delegate.close();
  }
}
