package dev.sluice.broker.internal.engine;

import dev.sluice.FairScheduler;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerMetrics;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.internal.accounting.ConfigHeapUsage;
import dev.sluice.broker.internal.accounting.HeapBudget;
import dev.sluice.broker.internal.accounting.IdleKeyLru;
import dev.sluice.broker.internal.accounting.ReadyAgeHistogram;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The state that the handlers of the engine share; used by one thread at a time. */
public final class EngineState {
  /** Messages that are delivered soon after they came are not read from the store. */
  private static final long MAX_BODY_BYTES = 8L << 20;

  public final FairScheduler<MessageEntry> scheduler = FairScheduler.create();
  public final Map<String, BrokerQueue> queues = new LinkedHashMap<>();
  public final TimerHeap timers = new TimerHeap();
  public final TreeMap<String, String> config = new TreeMap<>();

  /**
   * The heap of messages and of remembered dedupe ids; counted by {@link BrokerQueue#messageHeap}.
   */
  public final HeapBudget messageHeap = new HeapBudget("messages and remembered ids");

  public final MessageIndex index = new MessageIndex();

  public final LeaseLog leaseLog = new LeaseLog();

  public final IdleKeyLru idleKeys = new IdleKeyLru();

  public final HeapBudget configHeap = new HeapBudget("queues, hooks and configuration");
  final ConfigHeapUsage configHeapUsage = new ConfigHeapUsage(configHeap);
  public final EngineState.EngineCallbacks callbacks;
  final BrokerMetrics metrics;

  /** The number of times that the store was opened. */
  public final int epoch;

  /** Broker time of the input at hand; never goes back. */
  public long now;

  public long nextSequence = 1;
  int nextQueueId = 1;

  /** Bytes of messages that may be accepted, so that there stays room to settle those there are. */
  public long diskSpaceLeft = Long.MAX_VALUE;

  public CommitBatch batch;
  private long nextLease = 1;
  private long bodyBytes;

  /** Called by the engine; results come back as inputs. */
  public interface EngineCallbacks {
    /** Fails a call at once. */
    void reject(CompletableFuture<?> future, BrokerException reason);

    /** Runs {@code on_failure}; {@link FailureHandler#applyHookResult} takes the result. */
    void runFailureHook(EngineState.FailureHookRequest request);

    /** Returns whether the queue has {@code on_failure}. */
    boolean hasFailureHook(BrokerQueue queue);

    /** Returns false if the last attempt to read {@code entry} failed. */
    default boolean isReadable(MessageEntry entry) {
      return true;
    }

    /** Called when queues or their configurations have changed. */
    void queuesChanged();

    /** Called when a config entry has changed; null if it was removed. */
    void configChanged(String key, @Nullable String value);
  }

  /**
   * A message for {@code on_failure}.
   *
   * @param lease the one under which it failed
   * @param attempts failures, the one at hand included
   * @param future completed once the decision is stored; null if the lease expired
   */
  public record FailureHookRequest(
      MessageEntry entry,
      Lease lease,
      int attempts,
      FailureHandler.Nack nack,
      @Nullable CompletableFuture<Void> future) {}

  EngineState(EngineState.EngineCallbacks outputs, BrokerMetrics metrics, int epoch, long now) {
    this.callbacks = outputs;
    this.metrics = metrics;
    this.epoch = epoch;
    this.now = now;
    scheduler.advanceTo(now);
    this.batch = new CommitBatch(epoch, 1);
  }

  LeaseToken nextToken() {
    return new LeaseToken(epoch, nextLease++);
  }

  /**
   * Returns the queue of that name.
   *
   * @throws BrokerException if it does not exist or is being deleted
   */
  public BrokerQueue queue(String name) {
    BrokerQueue queue = queues.get(name);
    if (queue == null) {
      throw queueNotFound(name);
    }
    if (queue.deleting) {
      throw new BrokerException(
          BrokerException.Code.QUEUE_DELETED, "the queue is being deleted: queue=" + name);
    }
    return queue;
  }

  /** Returns the refusal of a call for a queue that does not exist. */
  public static BrokerException queueNotFound(String queue) {
    return new BrokerException(
        BrokerException.Code.QUEUE_NOT_FOUND, "unknown queue: queue=" + queue);
  }

  /**
   * Checks that there is heap for more messages of {@code queue}.
   *
   * @throws BrokerException if not
   */
  void requireMessageHeap(BrokerQueue queue, long more) {
    queue.messageHeap.require(more, () -> heapOfCounterpart(queue.name));
  }

  /**
   * Checks that there is heap to move {@code entry} to another queue.
   *
   * @throws BrokerException if not
   */
  void requireHeapToMove(MessageEntry entry, BrokerQueue to, InternedPlacement.Spec placement) {
    requireMessageHeap(to, heapToMove(entry, to, placement));
  }

  /** Returns whether there is heap to move {@code entry}, with its placement, to dead letters. */
  boolean hasHeapToMove(MessageEntry entry, BrokerQueue deadLetters) {
    long more = heapToMove(entry, deadLetters, entry.placement.spec);
    return deadLetters.messageHeap.fitsDeadLetter(more, () -> entry.queue.messageHeap.used());
  }

  /* The last message takes its placement along; others leave it, and need it a second time. */
  private static long heapToMove(
      MessageEntry entry, BrokerQueue to, InternedPlacement.Spec placement) {
    long less = entry.placement.users == 1 ? entry.placement.spec.heapBytes() : 0;
    return to.hasPlacement(placement) ? 0 : placement.heapBytes() - less;
  }

  /** Returns the heap of the dead-letter queue of a queue, or of the source of dead letters. */
  private long heapOfCounterpart(String name) {
    BrokerQueue counterpart =
        queues.get(
            QueueNames.isDeadLetterQueue(name)
                ? QueueNames.sourceOf(name)
                : QueueNames.deadLetterQueueOf(name));
    return counterpart == null ? 0 : counterpart.messageHeap.used();
  }

  /** A new message of {@code queue}, which is not stored yet. */
  MessageEntry create(BrokerQueue queue, InternedPlacement.Spec spec, int bytes, long expiresAt) {
    MessageEntry entry =
        new MessageEntry(queue, nextSequence++, queue.addMessage(spec, now), bytes, expiresAt);
    index.add(entry);
    return entry;
  }

  /** A place in {@code queue} for {@code entry}, which keeps its id; it is not stored there yet. */
  MessageEntry move(
      MessageEntry entry, BrokerQueue queue, InternedPlacement.Spec spec, long expiresAt) {
    MessageEntry moved =
        new MovedMessageEntry(
            queue, nextSequence++, queue.addMessage(spec, now), entry.bytes, expiresAt, entry.id());
    queue.messageHeap.addMovedId();
    index.add(moved);
    diskSpaceLeft -= entry.bytes;
    return moved;
  }

  /** Caches the body of {@code entry} if there is room: it may be delivered soon. */
  void cacheBody(MessageEntry entry, byte[] body) {
    if (bodyBytes + body.length <= MAX_BODY_BYTES) {
      bodyBytes += body.length;
      entry.body = body;
    }
  }

  /** Returns the cached body of {@code entry} and removes it from the cache. */
  public byte @Nullable [] removeCachedBody(MessageEntry entry) {
    byte[] body = entry.body;
    if (body != null) {
      bodyBytes -= body.length;
      entry.body = null;
    }
    return body;
  }

  /** Removes {@code entry} from the state. */
  void forget(MessageEntry entry) {
    Lease lease = entry.lease();
    unschedule(entry);
    if (lease != null) {
      discard(lease);
    }
    removeCachedBody(entry);
    entry.stage = MessageEntry.Stage.GONE;
    entry.queue.removeMessage(entry.placement);
    if (entry instanceof MovedMessageEntry) {
      entry.queue.messageHeap.removeMovedId();
    }
    index.remove(entry);
  }

  /** Removes {@code entry} from the scheduler and the timers, and ends its lease. */
  void unschedule(MessageEntry entry) {
    Lease lease = entry.lease();
    if (lease != null) {
      endLease(lease);
    }
    if (entry.timer != null) {
      timers.remove(entry.timer);
      entry.timer = null;
    }
    if (entry.stage == MessageEntry.Stage.DELAYED) {
      entry.queue.delayed--;
      entry.placement.count.delayed--;
    } else if (entry.stage == MessageEntry.Stage.PENDING) {
      entry.queue.markNotPending(entry);
    }
    if (entry.scheduled != null) {
      if (!entry.scheduled.remove()) {
        entry.scheduled.complete();
      }
      entry.scheduled = null;
    }
    entry.stage = MessageEntry.Stage.COMMITTING;
  }

  /** {@code lease} is to be found after a restart, as it is stored with the present batch. */
  void store(Lease lease) {
    leaseLog.store(lease, batch);
  }

  /** Forgets {@code lease}: it has ended, and its outcome is stored. */
  void discard(Lease lease) {
    leaseLog.discard(lease, batch);
  }

  /** {@code lease} is over and left no trace: that is stored for as long as the lease is. */
  void revoke(Lease lease) {
    MessageEntry entry = lease.entry;
    batch.changes.add(
        new StateChange.LeaseChanged(entry, lease.token, entry.attempts, StateChange.ENDED));
    leaseLog.revoke(lease, batch);
  }

  /** Ends {@code lease}: returns tokens of an undelivered message, and renews credit. */
  void endLease(Lease lease) {
    timers.remove(lease);
    lease.entry.timer = null;
    lease.entry.queue.leased--;
    lease.entry.placement.count.leased--;
    Lease.End end = lease.end();
    if (!end.sent()) {
      returnTokens(lease.entry);
    }
    ConsumerState holder = lease.holder;
    if (holder != null) {
      holder.remove(lease);
      // One that it never took leaves its mailbox later, and makes room then.
      if (end.claimed() && holder.renewsCredit && holder.takesMore()) {
        holder.queue.addCredit(holder, 1);
      }
    }
  }

  /** Returns the tokens of {@code entry}, which is leased and was not delivered after all. */
  void returnTokens(MessageEntry entry) {
    SortedMap<String, Long> throttles = entry.placement.spec.throttleKeys();
    if (entry.scheduled != null && !throttles.isEmpty()) {
      scheduler.returnTokens(entry.scheduled);
      batch.touchedLimits.addAll(throttles.keySet());
    }
  }

  static BrokerException diskFull() {
    return new BrokerException(
        BrokerException.Code.DISK_FULL, "the disk is nearly full: no messages are accepted");
  }

  /** {@code entry} is stored and may go at {@code availableAt}. */
  void makeAvailable(MessageEntry entry, long availableAt) {
    if (entry.stage == MessageEntry.Stage.GONE) {
      return;
    }
    if (availableAt > now) {
      delay(entry, availableAt, Math.min(availableAt, entry.expiresAt));
      return;
    }
    entry.readySince = ReadyAgeHistogram.second(availableAt);
    entry.queue.markPending(entry);
    armExpiry(entry);
    entry.scheduled = entry.queue.fairQueue.enqueue(entry, entry.placement.placement());
  }

  /** {@code entry} may go at {@code availableAt}; it is looked at again at {@code due}. */
  void delay(MessageEntry entry, long availableAt, long due) {
    entry.stage = MessageEntry.Stage.DELAYED;
    entry.queue.delayed++;
    entry.placement.count.delayed++;
    MessageTimer alarm = new MessageTimer(entry, availableAt);
    entry.timer = alarm;
    timers.set(alarm, due);
  }

  /** Makes sure that {@code entry}, which is pending, does not wait too long. */
  void armExpiry(MessageEntry entry) {
    if (entry.expiresAt != Long.MAX_VALUE) {
      MessageTimer alarm = new MessageTimer(entry, now);
      entry.timer = alarm;
      timers.set(alarm, entry.expiresAt);
    }
  }
}
