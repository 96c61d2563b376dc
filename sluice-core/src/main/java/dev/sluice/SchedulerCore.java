package dev.sluice;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/** What the queues of a scheduler share: gates, wake-ups and whose turn it is. */
final class SchedulerCore {
  /** The most one item may cost, and what a key of weight 1 may spend in a turn. */
  final long unit;

  /** What queues are told about it at first. */
  final boolean strictOrder;

  final Map<String, Gate> gates = new HashMap<>();
  private final Map<Names, ThrottleSet> sets = new HashMap<>();

  /** Queues with credit and with flows in some ring. */
  final Ring<QueueState> queues = new Ring<>();

  /** Queues with a priority that has a minimum share. */
  final Set<QueueState> sharing = new LinkedHashSet<>();

  /** Gates to look at before the next decision. */
  private final Ring<Gate> touched = new Ring<>();

  final Collector collector = new Collector();

  /** Armed gates at which several queues wait; those of one queue are in its own heap. */
  private final IndexedHeap<Gate> sharedWakeUps = new IndexedHeap<>();

  /** Queues with credit and armed gates of their own, by the earliest of these. */
  private final IndexedHeap<QueueState> wakingQueues = new IndexedHeap<>();

  private boolean started;
  private long originNanos;
  private long latestNanos;
  private boolean offering;
  private long sequence;

  /** The number of the last charge, or change of a rate. */
  private long lastCharge;

  /**
   * Counts the calls of {@link #next}: within one, a gate that let somebody through stands by it.
   */
  private long round;

  SchedulerCore(long unit, boolean strictOrder) {
    this.unit = unit;
    this.strictOrder = strictOrder;
  }

  /** The present, which never goes back. */
  long advanceTo(long nowNanos) {
    if (!started) {
      started = true;
      originNanos = nowNanos;
      latestNanos = nowNanos;
    }
    latestNanos = Axis.later(latestNanos, nowNanos);
    return latestNanos;
  }

  /** The present as {@link #advanceTo} would have it, which stays where it is. */
  long present(long nowNanos) {
    return started ? Axis.later(latestNanos, nowNanos) : nowNanos;
  }

  /** When {@code gate} lets somebody go; empty if time alone does not do it. */
  OptionalLong wakeUpOf(Gate gate) {
    return gate.isInHeap() ? OptionalLong.of(originNanos + gate.rank()) : OptionalLong.empty();
  }

  long sinceOrigin(long nowNanos) {
    return nowNanos - originNanos;
  }

  long nextSequence() {
    return sequence++;
  }

  long lastCharge() {
    return lastCharge;
  }

  /** Returns the number of a new charge, one for all throttle keys of an item, or rate change. */
  long nextCharge() {
    return ++lastCharge;
  }

  /** Between an offer and its answer nothing may change, or the offer would not hold. */
  void requireNoOffer() {
    if (offering) {
      throw new IllegalStateException("an offer is open: confirm it or give it back first");
    }
  }

  void offering(boolean open) {
    offering = open;
  }

  /** Whose turn it is; null if nobody can go at {@code nowNanos}. */
  @Nullable SubQueue next(long nowNanos) {
    round++;
    Gate due;
    while ((due = earliest()) != null && due.rank() <= sinceOrigin(nowNanos)) {
      disarm(due);
      touch(due);
    }
    visitDueShares(nowNanos);
    for (; ; ) {
      Gate gate;
      while ((gate = touched.first()) != null) {
        gate.unlink();
        gate.release(nowNanos);
      }
      // Again, for those who have just been let through: who asks twice must hear the same.
      visitDueShares(nowNanos);
      QueueState queue = queues.first();
      if (queue == null && touched.isEmpty()) {
        return null;
      }
      SubQueue sub = queue == null || !touched.isEmpty() ? null : queue.pick(nowNanos);
      if (sub != null && touched.isEmpty()) {
        return sub;
      }
    }
  }

  private void visitDueShares(long nowNanos) {
    for (QueueState queue : sharing) {
      queue.visitDueShares(nowNanos);
    }
  }

  /** When somebody can go next, or {@link PlainBucket#NEVER} if time alone does not bring it. */
  long nanosUntilWakeUp(long nowNanos) {
    Gate gate = earliest();
    return gate == null ? PlainBucket.NEVER : gate.rank() - sinceOrigin(nowNanos);
  }

  /** The armed gate that is due first, of those at which somebody with credit waits. */
  private @Nullable Gate earliest() {
    Gate shared;
    while ((shared = sharedWakeUps.first()) != null && !shared.isAwaited()) {
      disarm(shared);
    }
    QueueState queue = wakingQueues.first();
    Gate own = queue == null ? null : queue.wakeUps.first();
    return own == null || (shared != null && shared.rank() <= own.rank()) ? shared : own;
  }

  /**
   * Returns whether a gate at which {@code queue} waits is to be checked, and may let it through.
   */
  boolean mayLetThrough(QueueState queue) {
    for (Gate gate = touched.first(); gate != null; gate = gate.after()) {
      if (gate.isAwaitedBy(queue)) {
        return true;
      }
    }
    return false;
  }

  void touch(Gate gate) {
    if (!gate.isLinked()) {
      touched.addLast(gate);
    }
  }

  /** Wakes {@code gate} at its rank, for {@code queue} if nobody else waits there. */
  void arm(Gate gate, QueueState queue) {
    disarm(gate);
    gate.armedBy = gate.isShared() ? null : queue;
    if (gate.armedBy == null) {
      sharedWakeUps.put(gate);
    } else {
      queue.wakeUps.put(gate);
      updateWakeUps(queue);
    }
  }

  void disarm(Gate gate) {
    QueueState queue = gate.armedBy;
    if (queue == null) {
      sharedWakeUps.remove(gate);
    } else {
      queue.wakeUps.remove(gate);
      updateWakeUps(queue);
    }
    gate.armedBy = null;
  }

  /** A queue without credit takes its wake-ups out as one. */
  void updateWakeUps(QueueState queue) {
    wakingQueues.remove(queue);
    if (queue.hasCredit() && !queue.wakeUps.isEmpty()) {
      wakingQueues.put(queue);
    }
  }

  /**
   * The gate at which the head of {@code sub} has to wait longest, apart from {@code passed}, where
   * it was its turn.
   *
   * @return null if it can go
   */
  @Nullable Gate blocker(SubQueue sub, @Nullable Gate passed, long nowNanos) {
    ScheduledItem<?> head = sub.head();
    Gate[] gates = head.set.gates;
    Gate blocker = null;
    long longestNanos = -1;
    for (int i = 0; i < gates.length; i++) {
      long tokens = head.tokensAt(i);
      if (gates[i] != passed && !gates[i].admits(sub, tokens, round, nowNanos)) {
        long waitNanos = gates[i].nanosUntil(tokens, nowNanos);
        if (waitNanos > longestNanos) {
          longestNanos = waitNanos;
          blocker = gates[i];
        }
      }
    }
    return blocker;
  }

  void setRate(String name, Limit.Rate rate, long nowNanos) {
    Scale scale = Scale.of(rate);
    Gate gate = gate(name);
    if (gate.bucket == null) {
      gate.bucket = new PlainBucket(scale, lastCharge, nowNanos);
    } else {
      gate.bucket.configure(scale, nextCharge(), nowNanos);
    }
    gate.rateChanged();
  }

  boolean isAtRest() {
    return gates.isEmpty()
        && sets.isEmpty()
        && queues.isEmpty()
        && touched.isEmpty()
        && sharedWakeUps.isEmpty()
        && wakingQueues.isEmpty();
  }

  boolean removeRate(String name) {
    Gate gate = gates.get(name);
    if (gate == null || gate.bucket == null) {
      return false;
    }
    gate.bucket = null;
    gate.rateChanged();
    dropIfUnused(gate);
    return true;
  }

  long round() {
    return round;
  }

  private Gate gate(String name) {
    return gates.computeIfAbsent(name, absent -> new Gate(absent, this));
  }

  /**
   * Throttle keys by which a set is found. Producers choose them: these have an order so that a
   * hash map finds one in logarithmic time even if hashes collide.
   */
  private record Names(List<String> all) implements Comparable<Names> {
    @Override
    public int compareTo(Names other) {
      int order = Integer.compare(all.size(), other.all.size());
      for (int i = 0; order == 0 && i < all.size(); i++) {
        order = all.get(i).compareTo(other.all.get(i));
      }
      return order;
    }
  }

  /** The set of these keys, with one more user. */
  ThrottleSet enter(SortedMap<String, Long> throttles) {
    if (throttles.isEmpty()) {
      return ThrottleSet.EMPTY;
    }
    List<String> names = List.copyOf(throttles.keySet());
    Names key = new Names(names);
    ThrottleSet set = sets.get(key);
    if (set == null) {
      Gate[] members = new Gate[names.size()];
      for (int i = 0; i < members.length; i++) {
        members[i] = gate(names.get(i));
        members[i].users++;
      }
      set = new ThrottleSet(names, members);
      sets.put(key, set);
    }
    set.users++;
    return set;
  }

  /** An item that used {@code set} is gone. */
  void leave(ThrottleSet set) {
    if (set != ThrottleSet.EMPTY && --set.users == 0) {
      sets.remove(new Names(set.names));
      for (Gate gate : set.gates) {
        gate.users--;
        dropIfUnused(gate);
      }
    }
  }

  void dropIfUnused(Gate gate) {
    if (gate.isUnused()) {
      gates.remove(gate.name);
      gate.unlink();
      disarm(gate);
    }
  }
}
