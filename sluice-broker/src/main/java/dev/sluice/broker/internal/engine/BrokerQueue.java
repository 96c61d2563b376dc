package dev.sluice.broker.internal.engine;

import dev.sluice.FairQueue;
import dev.sluice.FairnessKeyStats;
import dev.sluice.broker.Durability;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.QueueTotals;
import dev.sluice.broker.internal.accounting.DedupeWindow;
import dev.sluice.broker.internal.accounting.FairnessKeyTable;
import dev.sluice.broker.internal.accounting.QueueHeapUsage;
import dev.sluice.broker.internal.accounting.ReadyAgeHistogram;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The state of a queue in the engine. */
public final class BrokerQueue {
  /** More than any consumer needs, and small enough for sums. */
  static final long MAX_CREDIT = 1L << 30;

  public final int id;
  public final String name;
  public final FairQueue<MessageEntry> fairQueue;
  final DedupeWindow dedupe;
  final Set<ConsumerState> consumers = new LinkedHashSet<>();

  /** Consumers with credit, in the order of their turns. */
  private final Deque<ConsumerState> inTurn = new ArrayDeque<>();

  private final Map<InternedPlacement.Spec, InternedPlacement> placements = new HashMap<>();

  /** The heap of its messages and of remembered dedupe ids. */
  public final QueueHeapUsage messageHeap;

  public final FairnessKeyTable fairnessKeys;
  private final ReadyAgeHistogram ready = new ReadyAgeHistogram();

  public QueueConfig config;

  /** The number of the present configuration; the first one is 1. */
  long revisionNumber;

  /** Set when the queue neither accepts nor delivers messages anymore. */
  public boolean deleting;

  // Messages now; `depth` counts all of them.
  public long depth;
  public long leased;
  public long delayed;
  private long pending;

  // Totals since the broker was opened.
  long enqueued;
  long delivered;
  long acked;
  public long failed;
  long deadLettered;

  // Messages that named a throttle key without a limit, and the latest such key.
  long unknownThrottles;
  String unknownThrottleKey = "";

  BrokerQueue(
      int id, String name, QueueConfig config, FairQueue<MessageEntry> queue, EngineState state) {
    this.messageHeap = new QueueHeapUsage(name, state.messageHeap);
    this.fairnessKeys = new FairnessKeyTable(state.idleKeys);
    this.dedupe = new DedupeWindow(messageHeap);
    this.id = id;
    this.name = name;
    this.fairQueue = queue;
    this.config = config;
    queue.setCredit(0);
    configure(config);
  }

  void configure(QueueConfig newConfig) {
    config = newConfig;
    fairQueue.setStrictOrder(newConfig.strictOrder());
    int slots = newConfig.maxInFlightPerKey();
    fairQueue.setMaxInFlightPerKey(slots == 0 ? Integer.MAX_VALUE : slots);
  }

  /** Returns whether {@link #configure} has to visit the fairness keys that are in flight. */
  boolean visitsKeys(QueueConfig newConfig) {
    return newConfig.maxInFlightPerKey() != config.maxInFlightPerKey();
  }

  /** Identifies this configuration; never used again, by this queue or another. */
  public String revision() {
    return id + "." + revisionNumber;
  }

  public boolean syncs() {
    return config.durability() == Durability.ALWAYS;
  }

  /** Returns whether a message of this queue has such a placement. */
  boolean hasPlacement(InternedPlacement.Spec spec) {
    return placements.containsKey(spec);
  }

  /** Returns the placement of one more message. */
  public InternedPlacement addMessage(InternedPlacement.Spec spec, long now) {
    InternedPlacement route = placements.get(spec);
    if (route == null) {
      route = new InternedPlacement(spec, fairnessKeys.of(spec.fairnessKey()));
      route.count.throttled |= !spec.throttleKeys().isEmpty();
      placements.put(spec, route);
      messageHeap.add(spec.heapBytes());
    }
    route.users++;
    messageHeap.add(MessageEntry.HEAP_BYTES);
    fairnessKeys.enter(route.count, spec.weight(), now);
    depth++;
    return route;
  }

  /** Removes a message from the counters. */
  void removeMessage(InternedPlacement route) {
    depth--;
    fairnessKeys.leave(route.count);
    messageHeap.remove(MessageEntry.HEAP_BYTES);
    if (--route.users == 0) {
      placements.remove(route.spec);
      messageHeap.remove(route.spec.heapBytes());
    }
  }

  /** Notes that {@code entry} waits in the scheduler from now on. */
  void markPending(MessageEntry entry) {
    entry.stage = MessageEntry.Stage.PENDING;
    ready.add(entry.readySince);
    pending++;
  }

  /** Notes that {@code entry} leaves the scheduler. */
  void markNotPending(MessageEntry entry) {
    ready.remove(entry.readySince);
    pending--;
  }

  /** Returns the number of messages that are stored and neither leased nor about to move. */
  public long waiting() {
    return pending + delayed;
  }

  public QueueStats stats(List<FairnessKeyStats> of, long now) {
    QueueTotals totals = new QueueTotals(enqueued, delivered, acked, failed, deadLettered);
    return new QueueStats(
        name,
        depth,
        leased,
        delayed,
        ready.oldest(now),
        consumers.size(),
        of,
        totals,
        unknownThrottles,
        unknownThrottleKey);
  }

  long depthOf(String key) {
    return fairnessKeys.messagesOf(key);
  }

  /** Lets the broker deliver {@code credit} more messages to the consumer. */
  void addCredit(ConsumerState consumer, long credit) {
    long more = Math.min(credit, MAX_CREDIT - consumer.credit);
    consumer.credit += more;
    if (consumer.credit > 0 && !consumer.hasTurn) {
      consumer.hasTurn = true;
      inTurn.addLast(consumer);
    }
    fairQueue.setCredit(fairQueue.credit() + more);
  }

  /** Removes the credit of the consumer. */
  void removeCredit(ConsumerState consumer) {
    fairQueue.setCredit(fairQueue.credit() - consumer.credit);
    consumer.credit = 0;
    inTurn.remove(consumer);
    consumer.hasTurn = false;
  }

  /** Returns the consumer that receives the message that the scheduler has just offered. */
  ConsumerState nextConsumer() {
    for (ConsumerState next; (next = inTurn.pollFirst()) != null; next.hasTurn = false) {
      if (next.credit > 0) {
        next.credit--;
        if (next.credit > 0) {
          inTurn.addLast(next);
        } else {
          next.hasTurn = false;
        }
        return next;
      }
    }
    throw new IllegalStateException("credit without a consumer in " + this);
  }

  @Override
  public String toString() {
    return name;
  }
}
