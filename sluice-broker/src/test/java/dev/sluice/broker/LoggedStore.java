package dev.sluice.broker;

import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.util.Arrays;

/**
 * Logs the offset between the clocks of broker and machine and, if configured, after each sync and
 * before any answer the state that a power loss would leave.
 */
final class LoggedStore extends ForwardingStore {
  private final RocksStore store;
  private final KillLog log;
  private final Syncs syncs;
  private boolean knowsClock;

  /** How it syncs. */
  enum Syncs {
    /** As ever. */
    SILENTLY,

    /** And says how far. */
    LOGGED,

    /** Not at all, and says how far. */
    NEVER
  }

  LoggedStore(RocksStore store, KillLog log, Syncs syncs) {
    super(store);
    this.store = store;
    this.log = log;
    this.syncs = syncs;
  }

  @Override
  public void sync() {
    if (syncs != Syncs.NEVER) {
      super.sync();
    }
    if (syncs != Syncs.SILENTLY) {
      log.add("wal", store.durable().log(), store.durable().bytes());
    }
  }

  @Override
  public void write(RowBatch rows) {
    if (!knowsClock) {
      rows.forEach(new Clock());
    }
    super.write(rows);
  }

  /** The first batch says when and where the broker starts. */
  private final class Clock implements RowBatch.Visitor {
    @Override
    public void put(StoreTable table, byte[] key, byte[] value) {
      if (table == StoreTable.META && Arrays.equals(key, Schema.META_KEY)) {
        CommitBatch.Meta meta = Schema.metaRow(value);
        log.add("clock", meta.brokerTime(), meta.bootNanos());
        knowsClock = true;
      }
    }

    @Override
    public void delete(StoreTable table, byte[] key) {}
  }
}
