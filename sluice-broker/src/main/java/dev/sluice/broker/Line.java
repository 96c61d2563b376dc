package dev.sluice.broker;

import dev.sluice.FairQueue;
import dev.sluice.KeyStats;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A queue as the state machine sees it. */
final class Line {
  /** More than any consumer needs, and small enough for sums. */
  static final long MAX_CREDIT = 1L << 30;

  final int id;
  final String name;
  final FairQueue<Entry> queue;
  final Dedupe dedupe;
  final Set<Subscriber> subscribers = new LinkedHashSet<>();

  /** Subscribers with credit, in turn. */
  private final Deque<Subscriber> inTurn = new ArrayDeque<>();

  private final Map<Route.Spec, Route> routes = new HashMap<>();
  private final HeapRoom room;
  final KeyCounts keys;
  private final ReadyAges ready = new ReadyAges();

  QueueConfig config;

  /** The number of its present configuration; the first one is 1. */
  long revisionNumber;

  /** It takes nothing and gives nothing any more. */
  boolean deleting;

  // What it holds; `depth` counts everything.
  long depth;
  long leased;
  long delayed;

  // What became of messages since the broker was opened.
  long enqueued;
  long delivered;
  long acked;
  long failed;
  long deadLettered;

  // Messages that named a throttle key without a rate, and the latest such key.
  long unknownThrottles;
  String unknownThrottleKey = "";

  Line(int id, String name, QueueConfig config, FairQueue<Entry> queue, BrokerState state) {
    this.room = state.messageRoom;
    this.keys = new KeyCounts(state.idleKeys);
    this.dedupe = new Dedupe(state.messageRoom);
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
    queue.setConcurrencyLimit(slots == 0 ? Integer.MAX_VALUE : slots);
  }

  /** Identifies this configuration; never used again, by this queue or another. */
  String revision() {
    return id + "." + revisionNumber;
  }

  boolean syncs() {
    return config.durability() == Durability.ALWAYS;
  }

  /** Returns whether a message of this queue has such a route. */
  boolean hasRoute(Route.Spec spec) {
    return routes.containsKey(spec);
  }

  /** The route of one more message. */
  Route enter(Route.Spec spec, long now) {
    Route route = routes.get(spec);
    if (route == null) {
      route = new Route(spec, keys.of(spec.key()));
      route.count.throttled |= !spec.throttles().isEmpty();
      routes.put(spec, route);
      room.add(spec.heapBytes());
    }
    route.users++;
    room.add(Entry.HEAP_BYTES);
    keys.enter(route.count, spec.weight(), now);
    depth++;
    return route;
  }

  /** A message is gone. */
  void leave(Route route) {
    depth--;
    keys.leave(route.count);
    room.remove(Entry.HEAP_BYTES);
    if (--route.users == 0) {
      routes.remove(route.spec);
      room.remove(route.spec.heapBytes());
    }
  }

  /** Notes that {@code entry} waits in the scheduler from now on. */
  void pending(Entry entry) {
    entry.stage = Entry.Stage.PENDING;
    ready.add(entry.readySince);
  }

  /** Notes that {@code entry} leaves the scheduler. */
  void notPending(Entry entry) {
    ready.remove(entry.readySince);
  }

  QueueStats stats(List<KeyStats> of, long now) {
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
  void give(Subscriber subscriber, long credit) {
    long more = Math.min(credit, MAX_CREDIT - subscriber.credit);
    subscriber.credit += more;
    if (subscriber.credit > 0 && !subscriber.inTurn) {
      subscriber.inTurn = true;
      inTurn.addLast(subscriber);
    }
    queue.setCredit(queue.credit() + more);
  }

  /** Takes from {@code subscriber} what credit it has. */
  void takeCredit(Subscriber subscriber) {
    queue.setCredit(queue.credit() - subscriber.credit);
    subscriber.credit = 0;
    inTurn.remove(subscriber);
    subscriber.inTurn = false;
  }

  /** Whose turn it is to get the message that the scheduler has just let go. */
  Subscriber nextSubscriber() {
    for (Subscriber next; (next = inTurn.pollFirst()) != null; next.inTurn = false) {
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
