package dev.sluice;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One fairness key within a priority of a queue: its sub-queues and its deficit. */
final class Flow extends Round.Member<Flow> {
  private static final Map<Gate, Seat> NO_SEATS = Map.of();

  final QueueState queue;
  final Band band;
  final String key;
  int weight;
  int pending;

  @Nullable Slots slots;

  /** Its places in the lines of gates. */
  private Map<Gate, Seat> seats = NO_SEATS;

  // Most flows have a single sub-queue; the collections are made for the second. They keep their
  // order, for what a scheduler does must not depend on where objects lie in memory.
  private @Nullable SubQueue single;
  private @Nullable Map<ThrottleSet, SubQueue> several;
  private @Nullable SubQueue singleReady;
  private @Nullable IndexedHeap<SubQueue> severalReady;

  Flow(QueueState queue, Band band, String key, int weight) {
    this.queue = queue;
    this.band = band;
    this.key = key;
    this.weight = weight;
  }

  @Override
  long quantum() {
    return weight * queue.core.unit;
  }

  boolean hasSlot() {
    return slots == null || !slots.isFull();
  }

  SubQueue subQueue(ThrottleSet set) {
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
    sub.leaveSeat();
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

  /** {@code sub} can go as far as anybody knows. */
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

  /** The ready sub-queue with the oldest head. */
  @Nullable SubQueue oldestReady() {
    return severalReady == null ? singleReady : severalReady.first();
  }

  Seat seatAt(Gate gate) {
    Seat known = seats.get(gate);
    if (known != null) {
      return known;
    }
    Seat seat = new Seat(gate.laneOf(queue), this);
    if (seats.isEmpty()) {
      seats = new LinkedHashMap<>(2);
    }
    seats.put(gate, seat);
    return seat;
  }

  void leave(Seat seat) {
    seats.remove(seat.lane.gate);
    if (seats.isEmpty()) {
      seats = NO_SEATS;
    }
  }

  Collection<Seat> seats() {
    return seats.values();
  }

  @Override
  public String toString() {
    return key + " in " + queue;
  }
}
