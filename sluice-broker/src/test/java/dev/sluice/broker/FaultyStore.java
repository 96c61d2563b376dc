package dev.sluice.broker;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A store whose next write, sync or scan can be made to fail. */
final class FaultyStore extends ForwardingStore {
  final AtomicReference<@Nullable StoreException> failWrite = new AtomicReference<>();
  final AtomicReference<@Nullable StoreException> failSync = new AtomicReference<>();
  final AtomicReference<@Nullable StoreException> failScan = new AtomicReference<>();

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
  public void write(Rows rows) {
    check(failWrite);
    super.write(rows);
  }

  @Override
  public void sync() {
    check(failSync);
    super.sync();
  }

  @Override
  public void scan(Table table, byte[] from, byte[] to, RowVisitor visitor) {
    StoreException why = failScan.getAndSet(null);
    if (why != null) {
      throw why;
    }
    super.scan(table, from, to, visitor);
  }
}
