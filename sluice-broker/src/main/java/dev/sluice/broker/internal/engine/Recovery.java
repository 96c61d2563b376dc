package dev.sluice.broker.internal.engine;

import dev.sluice.Limit;
import dev.sluice.ScheduledItem;
import dev.sluice.broker.BrokerMetrics;
import dev.sluice.broker.internal.accounting.DedupeWindow;
import dev.sluice.broker.internal.accounting.ReadyAgeHistogram;
import dev.sluice.broker.internal.accounting.RecoveryHeapCheck;
import dev.sluice.broker.internal.engine.CommitBatch.Level;
import dev.sluice.broker.internal.engine.CommitBatch.Meta;
import dev.sluice.broker.internal.engine.Schema.StateRow;
import dev.sluice.broker.internal.engine.Schema.StoredLease;
import dev.sluice.broker.internal.store.ByteReader;
import dev.sluice.broker.internal.store.ByteWriter;
import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Rebuilds the engine from the store. */
public final class Recovery {
  /** Levels are doubles; this much is given away so that rounding never adds a token. */
  private static final double ROUNDING = 1 - 1e-12;

  private static final int EPOCH_SHIFT = 40;

  private static final double NANOS_PER_SECOND = 1e9;

  private final Store store;
  private final Start start;
  private final Meta meta;
  private final Schema.@Nullable Opened before;
  private final boolean sameBoot;
  private final long downNanos;
  private final BrokerEngine engine;
  private final EngineState state;
  private final RowBatch rows = new RowBatch();
  private final LeaseRow restoredLeases;
  private final RecoveryHeapCheck heapCheck;

  /**
   * When and where the broker starts.
   *
   * @param wallNanos since 1970
   * @param bootNanos on a clock that counts since the machine started
   * @param bootId differs after the machine was started again; empty if unknown
   */
  public record Start(long wallNanos, long bootNanos, String bootId) {}

  /** A message that is not leased. */
  private record Waiting(MessageEntry entry, long availableAt) {}

  private Recovery(
      Store store,
      Start start,
      EngineState.EngineCallbacks outputs,
      BrokerMetrics metrics,
      long heapBytes) {
    this.store = store;
    this.start = start;
    requireVersion(store.get(StoreTable.META, Schema.VERSION_KEY));
    byte[] metaRow = store.get(StoreTable.META, Schema.META_KEY);
    this.meta = metaRow == null ? Meta.NONE : Schema.metaRow(metaRow);
    byte[] openedRow = store.get(StoreTable.META, Schema.OPENED_KEY);
    this.before = openedRow == null ? null : Schema.Opened.decode(openedRow);
    this.sameBoot =
        before != null
            && !start.bootId.isEmpty()
            && before.bootId().equals(start.bootId)
            && start.bootNanos >= meta.bootNanos();
    this.downNanos = start.bootNanos - meta.bootNanos();
    // Within one boot, the monotonic clock gives the downtime, even if the wall clock has changed.
    long now =
        sameBoot ? meta.brokerTime() + downNanos : Math.max(meta.brokerTime(), start.wallNanos);
    this.state = new EngineState(outputs, metrics, before == null ? 1 : before.epoch() + 1, now);
    this.engine = new BrokerEngine(state);
    this.restoredLeases = new LeaseRow(state.epoch, 0);
    this.heapCheck = new RecoveryHeapCheck(state.messageHeap, heapBytes);
  }

  private static void requireVersion(byte @Nullable [] row) {
    int version = row == null ? Schema.VERSION : new ByteReader(row).int32();
    if (version < Schema.OLDEST_VERSION || version > Schema.VERSION) {
      throw new StoreException(
          "the store has schema version %d, and this broker knows %d to %d only"
              .formatted(version, Schema.OLDEST_VERSION, Schema.VERSION));
    }
  }

  /** As below, with an unlimited heap; for tests. */
  public static BrokerEngine recover(
      Store store, Start start, EngineState.EngineCallbacks outputs, BrokerMetrics metrics) {
    return recover(store, start, outputs, metrics, Long.MAX_VALUE);
  }

  /**
   * Rebuilds the engine from {@code store}, and records the restart there.
   *
   * @throws BrokerException if {@code heapBytes} are too few for the stored messages; nothing was
   *     written
   */
  public static BrokerEngine recover(
      Store store,
      Start start,
      EngineState.EngineCallbacks outputs,
      BrokerMetrics metrics,
      long heapBytes) {
    Recovery recovery = new Recovery(store, start, outputs, metrics, heapBytes);
    recovery.readConfiguration();
    recovery.readLevels();
    recovery.readMessages();
    recovery.readDedupe();
    recovery.writeRestart();
    return recovery.engine;
  }

  private void readConfiguration() {
    // A power loss may lose the last numbers, which clients may have seen. So each time the store
    // is
    // opened, numbers continue from a range of their own.
    state.nextSequence = Math.max(meta.nextSequence(), (long) state.epoch << EPOCH_SHIFT);
    state.nextQueueId = meta.nextQueueId();
    store.scan(
        StoreTable.CONFIG,
        new byte[0],
        Schema.END,
        (key, value) -> {
          if (Schema.isQueue(key)) {
            Schema.QueueRow row = Schema.queueRow(value);
            BrokerQueue queue =
                engine.queueAdmin.open(Schema.queueId(key), row.name(), row.config());
            queue.revisionNumber = row.revisionNumber();
          } else {
            state.config.put(Schema.configName(key), Schema.text(value));
            state.configHeapUsage.restored(Schema.configName(key), Schema.text(value));
          }
          return true;
        });
  }

  /* After another boot the last grants are unknown, so every bucket starts empty. */
  private void readLevels() {
    Map<String, Level> stored = new HashMap<>();
    store.scan(
        StoreTable.LEVEL,
        new byte[0],
        Schema.END,
        (key, value) -> stored.put(Schema.text(key), Schema.levelRow(key, value)) == null);
    state.config.forEach(
        (key, value) -> {
          String throttleKey = LimitConfigEntry.throttleKey(key);
          if (throttleKey != null) {
            LimitConfigEntry rate = LimitConfigEntry.parse(value);
            state.scheduler.setLimit(throttleKey, Limit.ofRate(rate.perSecond(), rate.burst()));
            Level level = stored.get(throttleKey);
            if (!sameBoot) {
              restore(throttleKey, 0);
            } else if (level != null) {
              double elapsed = state.now - level.at();
              double minted = elapsed * rate.perSecond() / NANOS_PER_SECOND;
              restore(throttleKey, (level.tokens() + minted) * ROUNDING);
            }
          }
        });
  }

  private void restore(String throttleKey, double tokens) {
    state.scheduler.setLevel(throttleKey, tokens);
    Level level = new Level(throttleKey, tokens, state.now);
    rows.put(StoreTable.LEVEL, Schema.utf8(throttleKey), Schema.levelRow(level));
  }

  private void readMessages() {
    List<Waiting> all = new ArrayList<>();
    for (BrokerQueue queue : state.queues.values()) {
      store.scan(
          StoreTable.STATE,
          Schema.messageKey(queue.id, meta.lowWaterMark()),
          Schema.messageKey(queue.id, Long.MAX_VALUE),
          (key, value) -> {
            if (heapCheck.tryReserve(0)) {
              all.add(message(queue, key, Schema.stateRow(value)));
            }
            return true;
          });
    }
    if (heapCheck.isExceeded()) {
      // The heap that the error names must be enough for the remembered ids as well.
      store.scan(StoreTable.DEDUPE, new byte[0], Schema.END, (key, value) -> heapCheck.countOnly());
    }
    heapCheck.requireFit();
    all.sort(Comparator.comparingLong(waiting -> waiting.entry.sequence));
    all.forEach(waiting -> state.index.add(waiting.entry));
    readLeases();
    // The place of a message is the time from which it could go, as it was before the restart.
    all.sort(Comparator.comparingLong(Waiting::availableAt));
    all.forEach(this::schedule);
  }

  private void schedule(Waiting waiting) {
    MessageEntry entry = waiting.entry;
    Lease lease = entry.lease();
    if (lease == null) {
      state.makeAvailable(entry, waiting.availableAt);
      return;
    }
    // It takes its place, to which it may come back, and goes again.
    ScheduledItem<MessageEntry> place =
        entry.queue.fairQueue.enqueue(entry, entry.placement.placement());
    entry.queue.fairQueue.markDelivered(place);
    entry.scheduled = place;
    entry.readySince = ReadyAgeHistogram.second(waiting.availableAt);
  }

  private Waiting message(BrokerQueue queue, byte[] key, StateRow row) {
    long sequence = Schema.sequence(key);
    InternedPlacement route = queue.addMessage(row.route(), state.now);
    UUID id = row.keptId();
    MessageEntry entry;
    if (id == null) {
      entry = new MessageEntry(queue, sequence, route, row.bytes(), row.expiresAt());
    } else {
      entry = new MovedMessageEntry(queue, sequence, route, row.bytes(), row.expiresAt(), id);
      heapCheck.addMovedId(queue.messageHeap);
    }
    entry.attempts = row.attempts();
    return new Waiting(entry, row.availableAt());
  }

  private void readLeases() {
    store.scan(
        StoreTable.LEASE,
        new byte[0],
        Schema.END,
        (key, value) -> {
          for (ByteReader in = new ByteReader(value); in.hasMore(); ) {
            restore(StoredLease.read(in));
          }
          rows.delete(StoreTable.LEASE, key);
          return true;
        });
    // Leases in force are stored again, in one row.
    ByteWriter row = new ByteWriter(64);
    for (MessageEntry entry : state.index.find(any -> any.lease() != null)) {
      Lease lease = Objects.requireNonNull(entry.lease());
      state.leaseLog.restore(lease, restoredLeases);
      new StoredLease(entry.queue.id, entry.sequence, lease.token, entry.attempts, lease.due)
          .write(row);
    }
    if (restoredLeases.leases > 0) {
      state.leaseLog.add(restoredLeases);
      byte[] key = Schema.leaseKey(restoredLeases.epoch, restoredLeases.batch);
      rows.put(StoreTable.LEASE, key, row.toBytes());
    }
  }

  /*
   * Rows come in the order in which they were written, but within a batch not leases and their
   * changes: a lease is changed by its own token only. One whose failure was stored is known by the
   * attempts. One that ran out meanwhile, or whose failure was not stored, fails at once.
   */
  private void restore(StoredLease stored) {
    MessageEntry entry = state.index.get(stored.sequence());
    if (entry == null
        || entry.queue.id != stored.queueId()
        || entry.attempts != stored.attempts()) {
      return;
    }
    Lease known = entry.lease();
    if (known != null) {
      if (known.token.compareTo(stored.token()) > 0) {
        return;
      }
      state.unschedule(entry);
    }
    if (stored.until() != StateChange.ENDED) {
      Lease lease = new Lease(entry, stored.token(), null);
      entry.timer = lease;
      entry.stage = MessageEntry.Stage.LEASED;
      entry.queue.leased++;
      entry.placement.count.leased++;
      state.timers.set(lease, stored.until());
    }
  }

  private void readDedupe() {
    Map<Integer, BrokerQueue> byId = new HashMap<>();
    state.queues.values().forEach(queue -> byId.put(queue.id, queue));
    record Seen(BrokerQueue queue, String dedupeId, UUID id, long until) {}
    List<Seen> all = new ArrayList<>();
    store.scan(
        StoreTable.DEDUPE,
        new byte[0],
        Schema.END,
        (key, value) -> {
          ByteReader in = new ByteReader(value);
          BrokerQueue queue = byId.get(new ByteReader(key).int32());
          if (queue != null && heapCheck.tryReserve(DedupeWindow.heapBytes(Schema.dedupeId(key)))) {
            UUID id = Schema.id(in);
            all.add(new Seen(queue, Schema.dedupeId(key), id, in.int64()));
          }
          return true;
        });
    heapCheck.requireFit();
    all.sort(Comparator.comparingLong(Seen::until));
    all.forEach(
        seen -> engine.enqueueHandler.remember(seen.queue, seen.dedupeId, seen.id, seen.until));
  }

  private void writeRestart() {
    rows.put(
        StoreTable.META, Schema.VERSION_KEY, new ByteWriter(4).int32(Schema.VERSION).toBytes());
    rows.put(
        StoreTable.META, Schema.OPENED_KEY, new Schema.Opened(state.epoch, start.bootId).encode());
    long lowWaterMark = state.index.lowWaterMark(state.nextSequence);
    Meta restarted =
        new Meta(state.now, start.bootNanos, state.nextSequence, state.nextQueueId, lowWaterMark);
    rows.put(StoreTable.META, Schema.META_KEY, Schema.metaRow(restarted));
    store.write(rows);
    store.sync();
  }
}
