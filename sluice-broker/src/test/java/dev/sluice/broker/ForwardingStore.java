package dev.sluice.broker;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Forwards every call to another store; subclasses change some of them. */
abstract class ForwardingStore implements Store {
  private final Store delegate;

  ForwardingStore(Store delegate) {
    this.delegate = delegate;
  }

  @Override
  public void write(Rows rows) {
    delegate.write(rows);
  }

  @Override
  public void sync() {
    delegate.sync();
  }

  @Override
  public byte @Nullable [] get(Table table, byte[] key) {
    return delegate.get(table, key);
  }

  @Override
  public List<byte @Nullable []> getAll(Table table, List<byte[]> keys) {
    return delegate.getAll(table, keys);
  }

  @Override
  public void scan(Table table, byte[] from, byte[] to, RowVisitor visitor) {
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
