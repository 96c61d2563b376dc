package dev.sluice.broker;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes down after each sync, before anybody is answered, what a loss of power would leave. */
final class LoggedStore implements Store {
  private final RocksStore store;
  private final KillLog log;
  private final boolean syncs;

  /** One that does not sync at all unless it {@code syncs}. */
  LoggedStore(RocksStore store, KillLog log, boolean syncs) {
    this.store = store;
    this.log = log;
    this.syncs = syncs;
  }

  @Override
  public void sync() {
    if (syncs) {
      store.sync();
    }
    log.add("wal", store.durable().log(), store.durable().bytes());
  }

  @Override
  public void write(Rows rows) {
    store.write(rows);
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
