package dev.sluice.broker;

import dev.sluice.broker.Schema.StoredLease;

/** Turns a batch into rows. */
final class BatchRows {
  /** Messages that move are read; what has come together goes out before it is too much. */
  private static final int MAX_PART_BYTES = 16 << 20;

  private final Store store;
  private Rows rows;
  private long bytes;

  private BatchRows(Batch batch, Store store) {
    this.store = store;
    long expected = batch.bodyBytes + 100L * (batch.facts.size() + batch.handovers.size());
    this.rows = new Rows((int) Math.min(expected, MAX_PART_BYTES));
  }

  /**
   * Writes {@code batch}; as one, unless many messages move: then each move is one.
   *
   * @return bytes written
   */
  static long write(Batch batch, Store store) {
    BatchRows result = new BatchRows(batch, store);
    batch.probes.stream().filter(each -> !result.isReadable(each)).forEach(batch.unreadable::add);
    batch.facts.forEach(result::add);
    result.addLeases(batch);
    for (Batch.Level level : batch.levels) {
      result.rows.put(Table.LEVEL, Schema.utf8(level.throttleKey()), Schema.levelRow(level));
    }
    result.rows.put(Table.META, Schema.META_KEY, Schema.metaRow(batch.meta));
    result.flush();
    return result.bytes;
  }

  private boolean isReadable(Entry entry) {
    try {
      store.get(Table.MESSAGE, Schema.messageKey(entry));
      return true;
    } catch (StoreException unreadable) {
      return false;
    }
  }

  private void flush() {
    store.write(rows);
    bytes += rows.sizeBytes();
    rows = new Rows();
  }

  private void add(Fact fact) {
    if (fact instanceof Fact.Enqueued enqueued) {
      byte[] key = Schema.messageKey(enqueued.entry());
      rows.put(Table.MESSAGE, key, enqueued.body());
      rows.put(Table.STATE, key, Schema.stateRow(enqueued.entry(), 0, enqueued.availableAt()));
    } else if (fact instanceof Fact.Removed removed) {
      remove(removed.entry());
    } else if (fact instanceof Fact.Failed failed) {
      rows.put(
          Table.STATE,
          Schema.messageKey(failed.entry()),
          Schema.stateRow(failed.entry(), failed.attempts(), failed.availableAt()));
    } else if (fact instanceof Fact.Moved moved) {
      move(moved);
    } else if (fact instanceof Fact.Remembered seen) {
      rows.put(
          Table.DEDUPE,
          Schema.dedupeKey(seen.queueId(), seen.dedupeId()),
          Schema.dedupeRow(seen.id(), seen.until()));
    } else if (fact instanceof Fact.Forgotten forgotten) {
      rows.delete(Table.DEDUPE, Schema.dedupeKey(forgotten.queueId(), forgotten.dedupeId()));
    } else if (fact instanceof Fact.LeasesOver over) {
      rows.delete(Table.LEASE, Schema.leaseKey(over.epoch(), over.batch()));
    } else {
      addConfiguration(fact);
    }
  }

  private void addConfiguration(Fact fact) {
    if (fact instanceof Fact.ConfigSet set) {
      byte[] key = Schema.configKey(set.key());
      if (set.value() == null) {
        rows.delete(Table.CONFIG, key);
      } else {
        rows.put(Table.CONFIG, key, Schema.utf8(set.value()));
      }
    } else if (fact instanceof Fact.LevelDropped dropped) {
      rows.delete(Table.LEVEL, Schema.utf8(dropped.throttleKey()));
    } else if (fact instanceof Fact.QueueSaved saved) {
      byte[] row = Schema.queueRow(saved.name(), saved.config(), saved.revisionNumber());
      rows.put(Table.CONFIG, Schema.queueKey(saved.queueId()), row);
    } else if (fact instanceof Fact.QueueDeleted deleted) {
      rows.delete(Table.CONFIG, Schema.queueKey(deleted.queueId()));
    }
  }

  private void remove(Entry entry) {
    byte[] key = Schema.messageKey(entry);
    rows.delete(Table.MESSAGE, key);
    rows.delete(Table.STATE, key);
  }

  private void move(Fact.Moved moved) {
    if (rows.sizeBytes() > MAX_PART_BYTES) {
      flush();
    }
    byte[] body = store.get(Table.MESSAGE, Schema.messageKey(moved.from()));
    if (body == null) {
      throw new StoreException("a message is not in the store: " + moved.from());
    }
    byte[] key = Schema.messageKey(moved.to());
    Envelope envelope = Envelope.decode(body).with(moved.deadLetter());
    rows.put(Table.MESSAGE, key, envelope.encode());
    rows.put(Table.STATE, key, Schema.stateRow(moved.to(), moved.attempts(), moved.availableAt()));
    remove(moved.from());
  }

  private void addLeases(Batch batch) {
    if (!batch.storesLeases) {
      return;
    }
    ByteWriter out = new ByteWriter(40 * (batch.handovers.size() + 1));
    for (Handover handover : batch.handovers) {
      lease(handover.entry(), handover.token(), handover.attempts(), handover.until()).write(out);
    }
    for (Fact fact : batch.facts) {
      if (fact instanceof Fact.LeaseChanged changed) {
        lease(changed.entry(), changed.token(), changed.attempts(), changed.until()).write(out);
      }
    }
    rows.put(Table.LEASE, Schema.leaseKey(batch.epoch, batch.number), out.toBytes());
  }

  private static StoredLease lease(Entry entry, LeaseToken token, int attempts, long until) {
    return new StoredLease(entry.line.id, entry.sequence, token, attempts, until);
  }
}
