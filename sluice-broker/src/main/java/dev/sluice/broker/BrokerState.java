package dev.sluice.broker;

import dev.sluice.FairScheduler;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What the parts of the state machine share; belongs to one thread at a time. */
final class BrokerState {
  /** Messages that are delivered soon after they came are not read from the store. */
  private static final long MAX_BODY_BYTES = 8L << 20;

  final FairScheduler<Entry> scheduler = FairScheduler.create();
  final Map<String, Line> lines = new LinkedHashMap<>();
  final Timers timers = new Timers();
  final TreeMap<String, String> config = new TreeMap<>();

  /** The heap of messages and of remembered dedupe ids. */
  final HeapRoom messageRoom = new HeapRoom("messages and remembered ids");

  final MessageIndex index = new MessageIndex();

  final IdleKeys idleKeys = new IdleKeys();

  final HeapRoom setupRoom = new HeapRoom("queues, scripts and configuration");
  final Setup setup = new Setup(setupRoom);
  final Outputs outputs;
  final BrokerMetrics metrics;

  /** How often the store was opened. */
  final int epoch;

  /** Broker time of the input at hand; never goes back. */
  long now;

  long nextSequence = 1;
  int nextQueueId = 1;

  /** Bytes of messages that may be accepted, so that there stays room to settle those there are. */
  long diskRoom = Long.MAX_VALUE;

  Batch batch;
  private long nextLease = 1;
  private long bodyBytes;

  /** What the state machine asks of others; they come back with another input. */
  interface Outputs {
    /** Answers at once. */
    void refuse(CompletableFuture<?> future, BrokerException why);

    /** Runs {@code on_failure}; {@link Failures#verdict} takes the answer. */
    void askFailureHook(FailureQuestion question);

    /** Whether the queue has such a script. */
    boolean hasFailureHook(Line line);

    /** Returns false if the last attempt to read {@code entry} failed. */
    default boolean isReadable(Entry entry) {
      return true;
    }

    /** Queues are different now. */
    void queuesChanged();

    /** A value of the configuration is different now; null if it is gone. */
    void configChanged(String key, @Nullable String value);
  }

  /**
   * What to ask {@code on_failure}.
   *
   * @param lease the one under which it failed
   * @param attempts failures, the one at hand included
   * @param future whom to answer once it is decided and stored; null if nobody asked
   */
  record FailureQuestion(
      Entry entry,
      Lease lease,
      int attempts,
      Failures.Nack nack,
      @Nullable CompletableFuture<Void> future) {}

  BrokerState(Outputs outputs, BrokerMetrics metrics, int epoch, long now) {
    this.outputs = outputs;
    this.metrics = metrics;
    this.epoch = epoch;
    this.now = now;
    this.batch = new Batch(epoch, 1);
  }

  LeaseToken nextToken() {
    return new LeaseToken(epoch, nextLease++);
  }

  /** The queue of this name, if it is one to work with. */
  Line line(String name) {
    Line line = lines.get(name);
    if (line == null) {
      throw Scripts.notFound(name);
    }
    if (line.deleting) {
      throw new BrokerException(
          BrokerException.Code.QUEUE_DELETED, "the queue is being deleted: queue=" + name);
    }
    return line;
  }

  /** A new message of {@code line}, which is not stored yet. */
  Entry create(Line line, Route.Spec spec, int bytes, long expiresAt) {
    Entry entry = new Entry(line, nextSequence++, line.enter(spec, now), bytes, expiresAt);
    index.add(entry);
    return entry;
  }

  /** A place in {@code line} for {@code entry}, which keeps its id; it is not stored there yet. */
  Entry move(Entry entry, Line line, Route.Spec spec, long expiresAt) {
    Entry moved =
        new MovedEntry(
            line, nextSequence++, line.enter(spec, now), entry.bytes, expiresAt, entry.id());
    messageRoom.add(MovedEntry.ID_HEAP_BYTES);
    index.add(moved);
    diskRoom -= entry.bytes;
    return moved;
  }

  /** Keeps what is stored of {@code entry} at hand, if there is room: it may be wanted soon. */
  void keepBody(Entry entry, byte[] body) {
    if (bodyBytes + body.length <= MAX_BODY_BYTES) {
      bodyBytes += body.length;
      entry.body = body;
    }
  }

  /** What was kept of {@code entry}, which makes room for others. */
  byte @Nullable [] takeBody(Entry entry) {
    byte[] body = entry.body;
    if (body != null) {
      bodyBytes -= body.length;
      entry.body = null;
    }
    return body;
  }

  /** {@code entry} is gone from memory; wherever it stood, it does not any more. */
  void forget(Entry entry) {
    Lease lease = entry.lease();
    unschedule(entry);
    if (lease != null) {
      discard(lease);
    }
    takeBody(entry);
    entry.stage = Entry.Stage.GONE;
    entry.line.leave(entry.route);
    if (entry instanceof MovedEntry) {
      messageRoom.remove(MovedEntry.ID_HEAP_BYTES);
    }
    index.remove(entry);
  }

  /** Ends whatever {@code entry} waits for, or its lease. */
  void unschedule(Entry entry) {
    Lease lease = entry.lease();
    if (lease != null) {
      endLease(lease);
    }
    if (entry.timer != null) {
      timers.remove(entry.timer);
      entry.timer = null;
    }
    if (entry.stage == Entry.Stage.DELAYED) {
      entry.line.delayed--;
      entry.route.count.delayed--;
    } else if (entry.stage == Entry.Stage.PENDING) {
      entry.line.notPending(entry);
    }
    if (entry.scheduled != null) {
      if (!entry.scheduled.remove()) {
        entry.scheduled.complete();
      }
      entry.scheduled = null;
    }
    entry.stage = Entry.Stage.COMMITTING;
  }

  /** {@code lease} is to be found after a restart, as it is stored with the present batch. */
  void store(Lease lease) {
    if (!lease.rows.contains(batch.leases)) {
      lease.rows.add(batch.leases);
      batch.leases.uses++;
    }
  }

  /** {@code lease} is over, and what came of it is stored: it need not be found any more. */
  void discard(Lease lease) {
    lease.rows.forEach(this::release);
    lease.rows.clear();
  }

  /** {@code lease} is over and left no trace: that is stored for as long as the lease is. */
  void revoke(Lease lease) {
    Entry entry = lease.entry;
    batch.facts.add(new Fact.LeaseChanged(entry, lease.token, entry.attempts, Fact.OVER));
    for (LeaseRow row : lease.rows) {
      if (row != batch.leases) {
        row.corrections.add(batch.leases);
        batch.leases.uses++;
      }
    }
    discard(lease);
  }

  private void release(LeaseRow row) {
    // That of the present batch is not there yet; whether it will be is seen when it is sealed.
    if (--row.uses == 0 && row != batch.leases) {
      batch.facts.add(new Fact.LeasesOver(row.epoch, row.batch));
      row.corrections.forEach(this::release);
    }
  }

  /** The holder of {@code lease} has the message no more. */
  void endLease(Lease lease) {
    timers.remove(lease);
    lease.entry.timer = null;
    lease.entry.line.leased--;
    lease.entry.route.count.leased--;
    Lease.End end = lease.end();
    if (!end.sent()) {
      giveBackTokens(lease.entry);
    }
    Subscriber holder = lease.holder;
    if (holder != null) {
      holder.remove(lease);
      // One that it never took leaves its mailbox later, and makes room then.
      if (end.claimed() && holder.renewsCredit && holder.takesMore()) {
        holder.line.give(holder, 1);
      }
    }
  }

  /** Returns the tokens of {@code entry}, which is leased and was not delivered after all. */
  void giveBackTokens(Entry entry) {
    SortedMap<String, Long> throttles = entry.route.spec.throttles();
    if (entry.scheduled != null && !throttles.isEmpty()) {
      scheduler.giveBackTokens(entry.scheduled, now);
      batch.touched.addAll(throttles.keySet());
    }
  }

  static BrokerException diskFull() {
    return new BrokerException(
        BrokerException.Code.DISK_FULL, "the disk is nearly full: no messages are accepted");
  }

  /** {@code entry} is stored and may go at {@code availableAt}. */
  void makeAvailable(Entry entry, long availableAt) {
    if (entry.stage == Entry.Stage.GONE) {
      return;
    }
    if (availableAt > now) {
      delay(entry, availableAt, Math.min(availableAt, entry.expiresAt));
      return;
    }
    entry.readySince = ReadyAges.second(availableAt);
    entry.line.pending(entry);
    armExpiry(entry);
    entry.scheduled = entry.line.queue.enqueue(entry, entry.route.placement());
  }

  /** {@code entry} may go at {@code availableAt}; it is looked at again at {@code due}. */
  void delay(Entry entry, long availableAt, long due) {
    entry.stage = Entry.Stage.DELAYED;
    entry.line.delayed++;
    entry.route.count.delayed++;
    Alarm alarm = new Alarm(entry, availableAt);
    entry.timer = alarm;
    timers.set(alarm, due);
  }

  /** Makes sure that {@code entry}, which is pending, does not wait too long. */
  void armExpiry(Entry entry) {
    if (entry.expiresAt != Long.MAX_VALUE) {
      Alarm alarm = new Alarm(entry, now);
      entry.timer = alarm;
      timers.set(alarm, entry.expiresAt);
    }
  }
}
