package dev.sluice.broker;

import dev.sluice.broker.Batch.Level;
import dev.sluice.broker.Batch.Meta;
import dev.sluice.broker.Schema.StateRow;
import dev.sluice.broker.Schema.StoredLease;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Rebuilds the state machine from what is stored. */
final class Recovery {
  /** Levels are doubles; this much is given away so that rounding never adds a token. */
  private static final double ROUNDING = 1 - 1e-12;

  private static final int EPOCH_SHIFT = 40;

  private static final double NANOS_PER_SECOND = 1e9;

  private final Store store;
  private final Start start;
  private final Meta meta;
  private final Schema.@Nullable Opened before;
  private final Engine engine;
  private final BrokerState state;
  private final Rows rows = new Rows();

  /**
   * When and where the broker starts.
   *
   * @param wallNanos since 1970
   * @param bootNanos on a clock that counts since the machine started
   * @param bootId differs after the machine was started again; empty if unknown
   */
  record Start(long wallNanos, long bootNanos, String bootId) {}

  /** A message that is not leased. */
  private record Waiting(Entry entry, long availableAt) {}

  private Recovery(Store store, Start start, BrokerState.Outputs outputs, BrokerMetrics metrics) {
    this.store = store;
    this.start = start;
    requireVersion(store.get(Table.META, Schema.VERSION_KEY));
    byte[] metaRow = store.get(Table.META, Schema.META_KEY);
    this.meta = metaRow == null ? Meta.NONE : Schema.metaRow(metaRow);
    byte[] openedRow = store.get(Table.META, Schema.OPENED_KEY);
    this.before = openedRow == null ? null : Schema.Opened.decode(openedRow);
    long now = Math.max(meta.brokerTime(), start.wallNanos);
    this.state = new BrokerState(outputs, metrics, before == null ? 1 : before.epoch() + 1, now);
    this.engine = new Engine(state);
  }

  private static void requireVersion(byte @Nullable [] row) {
    int version = row == null ? Schema.VERSION : new ByteReader(row).int32();
    if (version != Schema.VERSION) {
      throw new StoreException(
          "the store has schema version "
              + version
              + ", and this broker knows "
              + Schema.VERSION
              + " only");
    }
  }

  /** The state machine as it was, as far as it was stored; {@code store} knows of the restart. */
  static Engine recover(
      Store store, Start start, BrokerState.Outputs outputs, BrokerMetrics metrics) {
    Recovery recovery = new Recovery(store, start, outputs, metrics);
    recovery.readConfiguration();
    recovery.readLevels();
    recovery.readMessages();
    recovery.readDedupe();
    recovery.writeRestart();
    return recovery.engine;
  }

  private void readConfiguration() {
    // A power loss may take the last numbers with it, which somebody may have seen: each time the
    // store is opened numbers go on from a place of their own.
    state.nextSequence = Math.max(meta.nextSequence(), (long) state.epoch << EPOCH_SHIFT);
    state.nextQueueId = meta.nextQueueId();
    store.scan(
        Table.CONFIG,
        new byte[0],
        Schema.END,
        (key, value) -> {
          if (Schema.isQueue(key)) {
            Schema.QueueRow row = Schema.queueRow(value);
            engine.admin.open(Schema.queueId(key), row.name(), row.config());
          } else {
            state.config.put(Schema.configName(key), Schema.text(value));
          }
          return true;
        });
  }

  /*
   * In the same boot the clock that counts since the machine started says how long the broker was
   * down, whatever happened to the wall clock. After another boot nobody knows what was handed out
   * last, so every bucket starts empty.
   */
  private void readLevels() {
    boolean sameBoot =
        before != null
            && !start.bootId.isEmpty()
            && before.bootId().equals(start.bootId)
            && start.bootNanos >= meta.bootNanos();
    long downNanos = start.bootNanos - meta.bootNanos();
    Map<String, Level> stored = new HashMap<>();
    store.scan(
        Table.LEVEL,
        new byte[0],
        Schema.END,
        (key, value) -> stored.put(Schema.text(key), Schema.levelRow(key, value)) == null);
    state.config.forEach(
        (key, value) -> {
          String throttleKey = ThrottleRate.throttleKey(key);
          if (throttleKey != null) {
            ThrottleRate rate = ThrottleRate.parse(value);
            state.scheduler.setRate(throttleKey, rate.perSecond(), rate.burst(), state.now);
            Level level = stored.get(throttleKey);
            if (!sameBoot) {
              restore(throttleKey, 0);
            } else if (level != null) {
              double elapsed = meta.brokerTime() - level.at() + downNanos;
              double minted = elapsed * rate.perSecond() / NANOS_PER_SECOND;
              restore(throttleKey, (level.tokens() + minted) * ROUNDING);
            }
          }
        });
  }

  private void restore(String throttleKey, double tokens) {
    state.scheduler.setLevel(throttleKey, tokens, state.now);
    Level level = new Level(throttleKey, tokens, state.now);
    rows.put(Table.LEVEL, Schema.utf8(throttleKey), Schema.levelRow(level));
  }

  private void readMessages() {
    List<Waiting> all = new ArrayList<>();
    for (Line line : state.lines.values()) {
      store.scan(
          Table.STATE,
          Schema.messageKey(line.id, meta.lowWaterMark()),
          Schema.messageKey(line.id, Long.MAX_VALUE),
          (key, value) -> all.add(message(line, key, Schema.stateRow(value))));
    }
    all.sort(Comparator.comparingLong(waiting -> waiting.entry.sequence));
    Map<Route.KeyCount, Entry> latest = new HashMap<>();
    for (Waiting waiting : all) {
      state.index.add(waiting.entry);
      latest.put(waiting.entry.route.count, waiting.entry);
    }
    readLeases();
    // The place of a message is the time from which it could go, as it was before the restart.
    all.sort(Comparator.comparingLong(Waiting::availableAt));
    for (Waiting waiting : all) {
      Entry entry = waiting.entry;
      if (entry.stage != Entry.Stage.LEASED) {
        boolean setsWeight = latest.get(entry.route.count) == entry;
        state.makeAvailable(entry, waiting.availableAt, !setsWeight);
      }
    }
  }

  private static Waiting message(Line line, byte[] key, StateRow row) {
    ByteReader in = new ByteReader(key);
    in.int32();
    Entry entry = new Entry(line, in.int64(), line.enter(row.route()), row.expiresAt());
    entry.attempts = row.attempts();
    return new Waiting(entry, row.availableAt());
  }

  private void readLeases() {
    List<Engine.LeaseRow> leaseRows = new ArrayList<>();
    long[] last = {state.now};
    store.scan(
        Table.LEASE,
        new byte[0],
        Schema.END,
        (key, value) -> {
          for (ByteReader in = new ByteReader(value); in.hasMore(); ) {
            StoredLease lease = StoredLease.read(in);
            last[0] = Math.max(last[0], lease.until());
            restore(lease);
          }
          return leaseRows.add(Schema.leaseRow(key));
        });
    // Together: one may say that a lease is over which another one gave.
    leaseRows.forEach(row -> state.timers.set(row, last[0]));
  }

  /*
   * Rows come in the order in which they were written, but within a batch not leases and their
   * changes: a lease is changed by its own token only. One that ran out while the broker was down
   * counts as a failure at once; one that ran out before that was seen to then.
   */
  private void restore(StoredLease stored) {
    Entry entry = state.index.get(stored.sequence());
    if (entry == null || entry.line.id != stored.queueId()) {
      return;
    }
    Lease known = entry.lease();
    if (known != null) {
      if (known.token.compareTo(stored.token()) > 0) {
        return;
      }
      state.unschedule(entry);
    }
    if (entry.attempts == stored.attempts() && stored.until() > meta.brokerTime()) {
      Lease lease = new Lease(entry, stored.token(), null);
      entry.timer = lease;
      entry.stage = Entry.Stage.LEASED;
      entry.line.leased++;
      state.timers.set(lease, stored.until());
    }
  }

  private void readDedupe() {
    Map<Integer, Line> byId = new HashMap<>();
    state.lines.values().forEach(line -> byId.put(line.id, line));
    record Seen(Line line, String dedupeId, UUID id, long until) {}
    List<Seen> all = new ArrayList<>();
    store.scan(
        Table.DEDUPE,
        new byte[0],
        Schema.END,
        (key, value) -> {
          ByteReader in = new ByteReader(value);
          Line line = byId.get(new ByteReader(key).int32());
          if (line != null) {
            UUID id = new UUID(in.int64(), in.int64());
            all.add(new Seen(line, Schema.dedupeId(key), id, in.int64()));
          }
          return true;
        });
    all.sort(Comparator.comparingLong(Seen::until));
    all.forEach(seen -> engine.intake.remember(seen.line, seen.dedupeId, seen.id, seen.until));
  }

  private void writeRestart() {
    rows.put(Table.META, Schema.VERSION_KEY, new ByteWriter(4).int32(Schema.VERSION).toBytes());
    rows.put(Table.META, Schema.OPENED_KEY, new Schema.Opened(state.epoch, start.bootId).encode());
    long lowWaterMark = state.index.lowWaterMark(state.nextSequence);
    Meta restarted =
        new Meta(state.now, start.bootNanos, state.nextSequence, state.nextQueueId, lowWaterMark);
    rows.put(Table.META, Schema.META_KEY, Schema.metaRow(restarted));
    store.write(rows);
    store.sync();
  }
}
