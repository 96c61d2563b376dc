package dev.sluice.broker.internal.engine;

import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.internal.engine.Schema.StoredLease;
import dev.sluice.broker.internal.store.ByteWriter;
import dev.sluice.broker.internal.store.MessageEnvelope;
import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;

/** Turns a batch into rows. */
public final class BatchEncoder {
  /** Messages that move are read; the batch is written before it becomes too large. */
  private static final int MAX_PART_BYTES = 16 << 20;

  private final Store store;
  private RowBatch rows;
  private long bytes;

  private BatchEncoder(CommitBatch batch, Store store) {
    this.store = store;
    long expected = batch.bodyBytes + 100L * (batch.changes.size() + batch.deliveries.size());
    this.rows = new RowBatch((int) Math.min(expected, MAX_PART_BYTES));
  }

  /**
   * Writes {@code batch}; as one, unless many messages move: then each move is one.
   *
   * @return bytes written
   */
  public static long write(CommitBatch batch, Store store) {
    BatchEncoder result = new BatchEncoder(batch, store);
    batch.probes.stream().filter(each -> !result.isReadable(each)).forEach(batch.unreadable::add);
    batch.changes.forEach(result::add);
    result.addLeases(batch);
    for (CommitBatch.Level level : batch.levels) {
      result.rows.put(StoreTable.LEVEL, Schema.utf8(level.limitName()), Schema.levelRow(level));
    }
    result.rows.put(StoreTable.META, Schema.META_KEY, Schema.metaRow(batch.meta));
    result.flush();
    return result.bytes;
  }

  private boolean isReadable(MessageEntry entry) {
    try {
      store.get(StoreTable.MESSAGE, Schema.messageKey(entry));
      return true;
    } catch (StoreException unreadable) {
      return false;
    }
  }

  private void flush() {
    store.write(rows);
    bytes += rows.sizeBytes();
    rows = new RowBatch();
  }

  private void add(StateChange change) {
    if (change instanceof StateChange.Enqueued enqueued) {
      byte[] key = Schema.messageKey(enqueued.entry());
      rows.put(StoreTable.MESSAGE, key, enqueued.body());
      rows.put(StoreTable.STATE, key, Schema.stateRow(enqueued.entry(), 0, enqueued.availableAt()));
    } else if (change instanceof StateChange.Removed removed) {
      remove(removed.entry());
    } else if (change instanceof StateChange.Failed failed) {
      rows.put(
          StoreTable.STATE,
          Schema.messageKey(failed.entry()),
          Schema.stateRow(failed.entry(), failed.attempts(), failed.availableAt()));
    } else if (change instanceof StateChange.Moved moved) {
      move(moved);
    } else if (change instanceof StateChange.DedupeAdded seen) {
      rows.put(
          StoreTable.DEDUPE,
          Schema.dedupeKey(seen.queueId(), seen.dedupeId()),
          Schema.dedupeRow(seen.id(), seen.until()));
    } else if (change instanceof StateChange.DedupeRemoved forgotten) {
      rows.delete(StoreTable.DEDUPE, Schema.dedupeKey(forgotten.queueId(), forgotten.dedupeId()));
    } else {
      addConfiguration(change);
    }
  }

  private void addConfiguration(StateChange change) {
    if (change instanceof StateChange.ConfigSet set) {
      byte[] key = Schema.configKey(set.key());
      if (set.value() == null) {
        rows.delete(StoreTable.CONFIG, key);
      } else {
        rows.put(StoreTable.CONFIG, key, Schema.utf8(set.value()));
      }
    } else if (change instanceof StateChange.LevelDropped dropped) {
      rows.delete(StoreTable.LEVEL, Schema.utf8(dropped.throttleKey()));
    } else if (change instanceof StateChange.QueueSaved saved) {
      byte[] row = Schema.queueRow(saved.name(), saved.config(), saved.revisionNumber());
      rows.put(StoreTable.CONFIG, Schema.queueKey(saved.queueId()), row);
    } else if (change instanceof StateChange.QueueDeleted deleted) {
      rows.delete(StoreTable.CONFIG, Schema.queueKey(deleted.queueId()));
    }
  }

  private void remove(MessageEntry entry) {
    byte[] key = Schema.messageKey(entry);
    rows.delete(StoreTable.MESSAGE, key);
    rows.delete(StoreTable.STATE, key);
  }

  private void move(StateChange.Moved moved) {
    if (rows.sizeBytes() > MAX_PART_BYTES) {
      flush();
    }
    byte[] body = store.get(StoreTable.MESSAGE, Schema.messageKey(moved.from()));
    if (body == null) {
      throw new StoreException("a message is not in the store: " + moved.from());
    }
    byte[] key = Schema.messageKey(moved.to());
    MessageEnvelope envelope = MessageEnvelope.decode(body).with(moved.deadLetter());
    rows.put(StoreTable.MESSAGE, key, envelope.encode());
    rows.put(
        StoreTable.STATE, key, Schema.stateRow(moved.to(), moved.attempts(), moved.availableAt()));
    remove(moved.from());
  }

  /* Rows go in the part in which leases of theirs are stored again. */
  private void addLeases(CommitBatch batch) {
    ByteWriter out = new ByteWriter(40 * (batch.deliveries.size() + 1));
    for (PendingDelivery delivery : batch.deliveries) {
      lease(delivery.entry(), delivery.token(), delivery.attempts(), delivery.until()).write(out);
    }
    for (StateChange change : batch.changes) {
      if (change instanceof StateChange.LeaseChanged changed) {
        lease(changed.entry(), changed.token(), changed.attempts(), changed.until()).write(out);
      } else if (change instanceof StateChange.LeasesEnded over) {
        rows.delete(StoreTable.LEASE, Schema.leaseKey(over.epoch(), over.batch()));
      }
    }
    if (batch.storesLeases) {
      rows.put(StoreTable.LEASE, Schema.leaseKey(batch.epoch, batch.number), out.toBytes());
    }
  }

  private static StoredLease lease(MessageEntry entry, LeaseToken token, int attempts, long until) {
    return new StoredLease(entry.queue.id, entry.sequence, token, attempts, until);
  }
}
