package dev.sluice.broker.engine;

import dev.sluice.FairQueue;
import dev.sluice.FairnessKeyStats;
import dev.sluice.broker.Durability;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.QueueTotals;
import dev.sluice.broker.accounting.DedupeWindow;
import dev.sluice.broker.accounting.FairnessKeyTable;
import dev.sluice.broker.accounting.HeapBudget;
import dev.sluice.broker.accounting.ReadyAgeHistogram;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A queue as the state machine sees it. */
public final class BrokerQueue {
  /** More than any consumer needs, and small enough for sums. */
  static final long MAX_CREDIT = 1L << 30;

  public final int id;
  public final String name;
  public final FairQueue<MessageEntry> queue;
  final DedupeWindow dedupe;
  final Set<ConsumerState> subscribers = new LinkedHashSet<>();

  /** Subscribers with credit, in turn. */
  private final Deque<ConsumerState> inTurn = new ArrayDeque<>();

  private final Map<InternedPlacement.Spec, InternedPlacement> routes = new HashMap<>();
  private final HeapBudget room;
  public final FairnessKeyTable keys;
  private final ReadyAgeHistogram ready = new ReadyAgeHistogram();

  public QueueConfig config;

  /** The number of its present configuration; the first one is 1. */
  long revisionNumber;

  /** It takes nothing and gives nothing any more. */
  public boolean deleting;

  // What it holds; `depth` counts everything.
  public long depth;
  public long leased;
  public long delayed;

  // What became of messages since the broker was opened.
  long enqueued;
  long delivered;
  long acked;
  public long failed;
  long deadLettered;

  // Messages that named a throttle key without a rate, and the latest such key.
  long unknownThrottles;
  String unknownThrottleKey = "";

  BrokerQueue(
      int id, String name, QueueConfig config, FairQueue<MessageEntry> queue, EngineState state) {
    this.room = state.messageRoom;
    this.keys = new FairnessKeyTable(state.idleKeys);
    this.dedupe = new DedupeWindow(state.messageRoom);
    this.id = id;
    this.name = name;
    this.queue = queue;
    this.config = config;
    queue.setCredit(0);
    configure(config);
  }

  void configure(QueueConfig newConfig) {
    config = newConfig;
    queue.setStrictOrder(newConfig.strictOrder());
    int slots = newConfig.maxInFlightPerKey();
    queue.setMaxInFlightPerKey(slots == 0 ? Integer.MAX_VALUE : slots);
  }

  /** Identifies this configuration; never used again, by this queue or another. */
  public String revision() {
    return id + "." + revisionNumber;
  }

  public boolean syncs() {
    return config.durability() == Durability.ALWAYS;
  }

  /** Returns whether a message of this queue has such a route. */
  boolean hasRoute(InternedPlacement.Spec spec) {
    return routes.containsKey(spec);
  }

  /** The route of one more message. */
  public InternedPlacement enter(InternedPlacement.Spec spec, long now) {
    InternedPlacement route = routes.get(spec);
    if (route == null) {
      route = new InternedPlacement(spec, keys.of(spec.key()));
      route.count.throttled |= !spec.throttles().isEmpty();
      routes.put(spec, route);
      room.add(spec.heapBytes());
    }
    route.users++;
    room.add(MessageEntry.HEAP_BYTES);
    keys.enter(route.count, spec.weight(), now);
    depth++;
    return route;
  }

  /** A message is gone. */
  void leave(InternedPlacement route) {
    depth--;
    keys.leave(route.count);
    room.remove(MessageEntry.HEAP_BYTES);
    if (--route.users == 0) {
      routes.remove(route.spec);
      room.remove(route.spec.heapBytes());
    }
  }

  /** Notes that {@code entry} waits in the scheduler from now on. */
  void pending(MessageEntry entry) {
    entry.stage = MessageEntry.Stage.PENDING;
    ready.add(entry.readySince);
  }

  /** Notes that {@code entry} leaves the scheduler. */
  void notPending(MessageEntry entry) {
    ready.remove(entry.readySince);
  }

  public QueueStats stats(List<FairnessKeyStats> of, long now) {
    QueueTotals totals = new QueueTotals(enqueued, delivered, acked, failed, deadLettered);
    return new QueueStats(
        name,
        depth,
        leased,
        delayed,
        ready.oldest(now),
        subscribers.size(),
        of,
        totals,
        unknownThrottles,
        unknownThrottleKey);
  }

  long depthOf(String key) {
    return keys.messagesOf(key);
  }

  /** Lets {@code subscriber} have so many messages more. */
  void give(ConsumerState subscriber, long credit) {
    long more = Math.min(credit, MAX_CREDIT - subscriber.credit);
    subscriber.credit += more;
    if (subscriber.credit > 0 && !subscriber.inTurn) {
      subscriber.inTurn = true;
      inTurn.addLast(subscriber);
    }
    queue.setCredit(queue.credit() + more);
  }

  /** Takes from {@code subscriber} what credit it has. */
  void takeCredit(ConsumerState subscriber) {
    queue.setCredit(queue.credit() - subscriber.credit);
    subscriber.credit = 0;
    inTurn.remove(subscriber);
    subscriber.inTurn = false;
  }

  /** Whose turn it is to get the message that the scheduler has just let go. */
  ConsumerState nextSubscriber() {
    for (ConsumerState next; (next = inTurn.pollFirst()) != null; next.inTurn = false) {
      if (next.credit > 0) {
        next.credit--;
        if (next.credit > 0) {
          inTurn.addLast(next);
        } else {
          next.inTurn = false;
        }
        return next;
      }
    }
    throw new IllegalStateException("credit without a subscriber in " + this);
  }

  @Override
  public String toString() {
    return name;
  }
}
