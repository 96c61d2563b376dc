package dev.sluice.internal.scheduler;

import dev.sluice.internal.scheduler.QueueWaiters.KeyWaiters;
import dev.sluice.internal.util.IndexedHeap;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A fairness key within a priority of a queue: its sub-queues and its deficit. */
final class KeyFlow extends DeficitRound.Member<KeyFlow> {
  private static final Map<LimitGate, KeyWaiters> NO_WAITERS = Map.of();

  final QueueState queue;
  final PriorityLevel level;
  final String key;
  private int weight;

  /** The number of items in all sub-queues. */
  private int pending;

  private @Nullable ConcurrencySlots slots;

  /** The waiters of this key, by the gate at which they keep a place. */
  private Map<LimitGate, KeyWaiters> waiters = NO_WAITERS;

  // Most flows have a single sub-queue; the collections are made for the second. They keep their
  // order, for what a scheduler does must not depend on where objects lie in memory.
  private @Nullable SubQueue single;
  private @Nullable Map<ThrottleKeySet, SubQueue> several;
  private @Nullable SubQueue singleReady;
  private @Nullable IndexedHeap<SubQueue> severalReady;

  KeyFlow(QueueState queue, PriorityLevel level, String key, int weight) {
    this.queue = queue;
    this.level = level;
    this.key = key;
    this.weight = weight;
  }

  @Override
  long quantum() {
    return weight * queue.core.unit;
  }

  int weight() {
    return weight;
  }

  /** Sets the weight, and clamps the deficit to the new quantum. */
  void setWeight(int newWeight) {
    weight = newWeight;
    capDeficit();
  }

  int pending() {
    return pending;
  }

  boolean isIdle() {
    return pending == 0;
  }

  void add(SubQueue sub, QueuedItem<?> item) {
    sub.add(item);
    pending++;
  }

  void remove(SubQueue sub, QueuedItem<?> item) {
    sub.remove(item);
    pending--;
  }

  /** Sets the slots that items of the key occupy; null if they occupy none. */
  void setSlots(@Nullable ConcurrencySlots ofKey) {
    slots = ofKey;
  }

  boolean hasSlot() {
    return slots == null || !slots.isFull();
  }

  SubQueue subQueue(ThrottleKeySet set) {
    if (single != null && single.set == set) {
      return single;
    }
    SubQueue found = several == null ? null : several.get(set);
    return found == null ? add(new SubQueue(this, set)) : found;
  }

  private SubQueue add(SubQueue sub) {
    if (single == null && several == null) {
      single = sub;
      return sub;
    }
    if (several == null) {
      several = new LinkedHashMap<>();
    }
    if (single != null) {
      several.put(single.set, single);
      single = null;
    }
    several.put(sub.set, sub);
    return sub;
  }

  /** Forgets {@code sub}, which is empty and neither ready nor parked. */
  void drop(SubQueue sub) {
    sub.leavePlace();
    if (single == sub) {
      single = null;
    } else if (several != null) {
      several.remove(sub.set);
      if (several.isEmpty()) {
        several = null;
      }
    }
  }

  Collection<SubQueue> subQueues() {
    if (single != null) {
      return List.of(single);
    }
    return several == null ? List.of() : several.values();
  }

  /** Marks a sub-queue as ready: nothing is known to hold it. */
  void ready(SubQueue sub) {
    if (severalReady != null) {
      severalReady.put(sub);
    } else if (singleReady == null) {
      singleReady = sub;
    } else {
      severalReady = new IndexedHeap<>();
      severalReady.put(singleReady);
      severalReady.put(sub);
      singleReady = null;
    }
    queue.enter(this);
  }

  void unready(SubQueue sub) {
    if (singleReady == sub) {
      singleReady = null;
    } else if (severalReady != null) {
      severalReady.remove(sub);
      if (severalReady.isEmpty()) {
        severalReady = null;
      }
    }
  }

  boolean isReady(SubQueue sub) {
    return singleReady == sub || (severalReady != null && sub.isInHeap());
  }

  /** Returns the ready sub-queue with the oldest head. */
  @Nullable SubQueue oldestReady() {
    return severalReady == null ? singleReady : severalReady.first();
  }

  /** Returns its waiters at {@code gate}, at first none. */
  KeyWaiters waitersAt(LimitGate gate) {
    KeyWaiters known = waiters.get(gate);
    if (known != null) {
      return known;
    }
    KeyWaiters added = gate.waiters.of(queue).keyWaiters(this);
    if (waiters.isEmpty()) {
      waiters = new LinkedHashMap<>(2);
    }
    waiters.put(gate, added);
    return added;
  }

  /** Forgets {@code unused}, in which no sub-queue keeps a place. */
  void drop(KeyWaiters unused) {
    waiters.remove(unused.gate());
    if (waiters.isEmpty()) {
      waiters = NO_WAITERS;
    }
  }

  Collection<KeyWaiters> waiters() {
    return waiters.values();
  }

  @Override
  public String toString() {
    return key + " in " + queue;
  }
}
