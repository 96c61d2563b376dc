package dev.sluice.internal.scheduler;

import dev.sluice.Limit;
import dev.sluice.internal.bucket.ConfinedTokenBucket;
import dev.sluice.internal.bucket.EpochScale;
import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.internal.util.IndexedHeap;
import dev.sluice.internal.util.IntrusiveList;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/** The state that the queues of a scheduler share: gates, wake-ups and turns. */
final class SchedulerCore {
  /** The most one item may cost, and what a key of weight 1 may spend in a turn. */
  final long unit;

  /** The initial setting of queues. */
  final boolean strictOrder;

  final Map<String, LimitGate> gates = new HashMap<>();
  private final Map<SchedulerCore.ThrottleKeyNames, ThrottleKeySet> sets = new HashMap<>();

  /** Queues with credit and with flows in some ring. */
  final IntrusiveList<QueueState> queues = new IntrusiveList<>();

  /** Queues with a priority that has a minimum rate. */
  final Set<QueueState> withMinimumRates = new LinkedHashSet<>();

  /** Gates to look at before the next decision. */
  private final IntrusiveList<LimitGate> touched = new IntrusiveList<>();

  final MultiLimitReservation reservation = new MultiLimitReservation();

  /** Armed gates at which several queues wait; those of one queue are in its own heap. */
  private final IndexedHeap<LimitGate> sharedWakeUps = new IndexedHeap<>();

  /** Queues with credit and armed gates of their own, by the earliest of these. */
  private final IndexedHeap<QueueState> wakingQueues = new IndexedHeap<>();

  /** Buckets made before the first time was given. */
  private final List<ConfinedTokenBucket> early = new ArrayList<>();

  private boolean started;
  private long originNanos;
  private long latestNanos;
  private boolean offering;
  private long sequence;

  /** The number of the last charge, or change of a rate. */
  private long lastCharge;

  /** Counts the calls of {@link #next}: within one, a gate does not revoke what it let through. */
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
      early.forEach(bucket -> bucket.startAt(nowNanos));
      early.clear();
    }
    latestNanos = EpochScale.later(latestNanos, nowNanos);
    return latestNanos;
  }

  /** Returns the time that was given last; 0 before the first. */
  long now() {
    return latestNanos;
  }

  /** Returns the time until {@code gate} grants a waiter; empty if time alone does not do it. */
  Optional<Duration> nextGrantIn(LimitGate gate) {
    return gate.isInHeap()
        ? Optional.of(Duration.ofNanos(Math.max(0, originNanos + gate.rank() - latestNanos)))
        : Optional.empty();
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

  /** Returns the sub-queue that goes next; null if none can go at {@code nowNanos}. */
  @Nullable SubQueue next(long nowNanos) {
    round++;
    LimitGate due;
    while ((due = earliest()) != null && due.rank() <= sinceOrigin(nowNanos)) {
      disarm(due);
      touch(due);
    }
    visitDueMinimumRates(nowNanos);
    for (; ; ) {
      LimitGate gate;
      while ((gate = touched.first()) != null) {
        gate.unlink();
        gate.release(nowNanos);
      }
      // Again, for those that have just been let through: two calls must give the same answer.
      visitDueMinimumRates(nowNanos);
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

  private void visitDueMinimumRates(long nowNanos) {
    for (QueueState queue : withMinimumRates) {
      queue.visitDueMinimumRates(nowNanos);
    }
  }

  /**
   * Returns the time until the next item can go, or {@link ConfinedTokenBucket#NEVER} if time alone
   * does not help.
   */
  long nanosUntilWakeUp(long nowNanos) {
    LimitGate gate = earliest();
    return gate == null ? ConfinedTokenBucket.NEVER : gate.rank() - sinceOrigin(nowNanos);
  }

  /** Returns the armed gate that is due first, of those with a waiter that has credit. */
  private @Nullable LimitGate earliest() {
    LimitGate shared;
    while ((shared = sharedWakeUps.first()) != null && !shared.waiters.skipQueuesWithoutCredit()) {
      disarm(shared);
    }
    QueueState queue = wakingQueues.first();
    LimitGate own = queue == null ? null : queue.wakeUps.first();
    return own == null || (shared != null && shared.rank() <= own.rank()) ? shared : own;
  }

  /**
   * Returns whether a gate at which {@code queue} waits is to be checked, and may let it through.
   */
  boolean mayLetThrough(QueueState queue) {
    for (LimitGate gate = touched.first(); gate != null; gate = gate.after()) {
      if (gate.waiters.isAwaitedBy(queue)) {
        return true;
      }
    }
    return false;
  }

  void touch(LimitGate gate) {
    if (!gate.isLinked()) {
      touched.addLast(gate);
    }
  }

  /** Wakes {@code gate} at its rank, for {@code queue} if no other queue waits there. */
  void arm(LimitGate gate, QueueState queue) {
    disarm(gate);
    gate.armedBy = gate.waiters.isShared() ? null : queue;
    if (gate.armedBy == null) {
      sharedWakeUps.put(gate);
    } else {
      queue.wakeUps.put(gate);
      updateWakeUps(queue);
    }
  }

  void disarm(LimitGate gate) {
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
  @Nullable LimitGate blocker(SubQueue sub, @Nullable LimitGate passed, long nowNanos) {
    QueuedItem<?> head = sub.head();
    LimitGate[] gates = head.set.gates;
    LimitGate blocker = null;
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

  void setLimit(String name, Limit limit) {
    UnitScale scale = UnitScale.ofNamed(limit);
    gate(name).setLimit(scale);
  }

  /** Creates a full bucket at the present time. */
  ConfinedTokenBucket newBucket(UnitScale scale) {
    ConfinedTokenBucket bucket = new ConfinedTokenBucket(scale, lastCharge, latestNanos);
    if (!started) {
      early.add(bucket);
    }
    return bucket;
  }

  boolean isAtRest() {
    return gates.isEmpty()
        && sets.isEmpty()
        && queues.isEmpty()
        && touched.isEmpty()
        && sharedWakeUps.isEmpty()
        && wakingQueues.isEmpty();
  }

  boolean removeLimit(String name) {
    LimitGate gate = gates.get(name);
    if (gate == null || gate.bucket() == null) {
      return false;
    }
    gate.removeLimit();
    dropIfUnused(gate);
    return true;
  }

  long round() {
    return round;
  }

  private LimitGate gate(String name) {
    return gates.computeIfAbsent(name, absent -> new LimitGate(absent, this));
  }

  /**
   * Throttle keys by which a set is found. Producers choose them: these have an order so that a
   * hash map finds one in logarithmic time even if hashes collide.
   */
  private record ThrottleKeyNames(List<String> all)
      implements Comparable<SchedulerCore.ThrottleKeyNames> {
    @Override
    public int compareTo(SchedulerCore.ThrottleKeyNames other) {
      int order = Integer.compare(all.size(), other.all.size());
      for (int i = 0; order == 0 && i < all.size(); i++) {
        order = all.get(i).compareTo(other.all.get(i));
      }
      return order;
    }
  }

  /** The set of these keys, with one more user. */
  ThrottleKeySet enter(SortedMap<String, Long> throttles) {
    if (throttles.isEmpty()) {
      return ThrottleKeySet.EMPTY;
    }
    List<String> names = List.copyOf(throttles.keySet());
    SchedulerCore.ThrottleKeyNames key = new SchedulerCore.ThrottleKeyNames(names);
    ThrottleKeySet set = sets.get(key);
    if (set == null) {
      LimitGate[] members = new LimitGate[names.size()];
      for (int i = 0; i < members.length; i++) {
        members[i] = gate(names.get(i));
        members[i].addUser();
      }
      set = new ThrottleKeySet(names, members);
      sets.put(key, set);
    }
    set.users++;
    return set;
  }

  /** Removes one use of {@code set}: an item with it has left the scheduler. */
  void leave(ThrottleKeySet set) {
    if (set != ThrottleKeySet.EMPTY && --set.users == 0) {
      sets.remove(new SchedulerCore.ThrottleKeyNames(set.names));
      for (LimitGate gate : set.gates) {
        gate.removeUser();
        dropIfUnused(gate);
      }
    }
  }

  void dropIfUnused(LimitGate gate) {
    if (gate.isUnused()) {
      gates.remove(gate.name);
      gate.unlink();
      disarm(gate);
    }
  }
}
