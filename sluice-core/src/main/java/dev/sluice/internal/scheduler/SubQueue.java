package dev.sluice.internal.scheduler;

import dev.sluice.internal.scheduler.QueueWaiters.KeyWaiters;
import dev.sluice.internal.util.IndexedHeap;
import dev.sluice.internal.util.IntrusiveList;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The items of one fairness key that name the same throttle keys, in order of arrival.
 *
 * <p>Either ready, and then among the ready ones of its flow, or parked at a gate. In strict order
 * a flow has one sub-queue, whose items differ in their sets.
 */
final class SubQueue extends IndexedHeap.Node<SubQueue> {
  /*
   * Invariant. While it is parked at a gate it is among the GateWaiters of that gate, and only they
   * park and unpark it. A place, once taken, is kept until the head goes or another gate parks it in
   * turn; so the key keeps its deficit there from one item to the next.
   *
   * Order. Items are linked by sequence. New ones go to the end and most of those that come back to
   * the head. For others, marks say where a search starts: a search marks one in MARK_DISTANCE of
   * the items that it passes, so no later search passes many of them again, and a place is found in
   * logarithmic time, amortized. A marked item that leaves the middle hands its mark on.
   */
  private static final List<LimitGate> NO_GATES = List.of();

  /** A search passes this many items before it marks one. */
  private static final int MARK_DISTANCE = 32;

  final KeyFlow flow;
  final ThrottleKeySet set;
  final IntrusiveList<QueuedItem<?>> items = new IntrusiveList<>();

  /** Some of the items, by their sequences; null if there are none. */
  private @Nullable TreeMap<Long, QueuedItem<?>> marks;

  private @Nullable LimitGate parkedAt;

  /** The place that it keeps among the waiters of a gate. */
  private @Nullable KeyWaiters place;

  /** True if every gate of its head keeps tokens for it. */
  private boolean promised;

  /**
   * Gates that keep the tokens for it while it waits at another; see {@link MultiLimitReservation}.
   */
  private List<LimitGate> held = NO_GATES;

  /** Gates that would have let it through in that round, had not another one held it up. */
  private @Nullable Set<LimitGate> turns;

  private long turnsRound;

  /** Counts how often one gate let it through and another did not, since its last delivery. */
  private int bounces;

  SubQueue(KeyFlow flow, ThrottleKeySet set) {
    this.flow = flow;
    this.set = set;
  }

  QueuedItem<?> head() {
    QueuedItem<?> head = items.first();
    if (head == null) {
      throw new IllegalStateException("empty sub-queue of " + flow);
    }
    return head;
  }

  /** Puts {@code item} where its sequence says: at the end, or where it was before it went. */
  void add(QueuedItem<?> item) {
    QueuedItem<?> last = items.last();
    if (last == null || last.sequence < item.sequence) {
      items.addLast(item);
    } else {
      items.addBefore(item, firstFrom(item.sequence));
    }
    item.enterQueue(this);
  }

  /** Removes {@code item}, which is delivered or removed. */
  void remove(QueuedItem<?> item) {
    TreeMap<Long, QueuedItem<?>> marked = marks;
    if (marked != null && marked.remove(item.sequence, item)) {
      QueuedItem<?> next = items.first() == item ? null : item.after();
      if (next != null) {
        marked.put(next.sequence, next);
      } else if (marked.isEmpty()) {
        marks = null;
      }
    }
    item.leaveQueue();
  }

  /** Returns the first item whose sequence is at least {@code sequence}; there is one. */
  private QueuedItem<?> firstFrom(long sequence) {
    QueuedItem<?> next = head();
    TreeMap<Long, QueuedItem<?>> marked = marks;
    if (marked != null && next.sequence < sequence) {
      Map.Entry<Long, QueuedItem<?>> mark = marked.floorEntry(sequence);
      next = mark == null ? next : mark.getValue();
    }
    for (int passed = 1; next.sequence < sequence; passed++) {
      if (passed % MARK_DISTANCE == 0) {
        mark(next);
      }
      next = Objects.requireNonNull(next.after());
    }
    return next;
  }

  private void mark(QueuedItem<?> item) {
    if (marks == null) {
      marks = new TreeMap<>();
    }
    marks.put(item.sequence, item);
  }

  boolean isPromised() {
    return promised;
  }

  /** Returns whether {@code gate} keeps the tokens of its head. */
  boolean isPromisedBy(LimitGate gate) {
    return promised || held.contains(gate);
  }

  List<LimitGate> held() {
    return held;
  }

  /** Every gate keeps the tokens of its head. */
  void promise() {
    for (LimitGate gate : head().set.gates) {
      if (!held.contains(gate)) {
        changePromise(gate, 1);
      }
    }
    held = NO_GATES;
    promised = true;
  }

  /** {@code gate} keeps the tokens of its head. */
  void hold(LimitGate gate) {
    if (held.contains(gate)) {
      return;
    }
    if (held.isEmpty()) {
      held = new ArrayList<>(2);
    }
    held.add(gate);
    changePromise(gate, 1);
  }

  /** {@code gate} need not keep the tokens of its head any more, if it did. */
  void letGo(LimitGate gate) {
    if (held.contains(gate)) {
      held.remove(gate);
      changePromise(gate, -1);
    }
  }

  /** Ends the promise after its head has taken the tokens. */
  void keepPromise() {
    promised = false;
    for (LimitGate gate : head().set.gates) {
      changePromise(gate, -1);
    }
  }

  /** No gate need keep the tokens of its head any more, if it did. */
  void withdraw() {
    if (promised) {
      keepPromise();
      if (place != null) {
        place.returnTurn(head().cost);
      }
    }
    for (LimitGate gate : held) {
      changePromise(gate, -1);
    }
    held = NO_GATES;
  }

  private void changePromise(LimitGate gate, int sign) {
    gate.waiters.of(flow.queue).promise(flow.level.priority, sign * head().tokensAt(gate));
  }

  /* Otherwise two gates at which it is first could send it to and fro forever. */
  void hasTurnAt(LimitGate gate, long round) {
    if (turns == null || turnsRound != round) {
      turns = new HashSet<>();
      turnsRound = round;
    }
    turns.add(gate);
  }

  boolean hadTurnAt(LimitGate gate, long round) {
    return turns != null && turnsRound == round && turns.contains(gate);
  }

  /** Returns how often it was sent on, with this time. */
  int countBounce() {
    return ++bounces;
  }

  void resetBounces() {
    bounces = 0;
  }

  /** Returns the gate at which it is parked; null if it is ready. */
  @Nullable LimitGate parkedAt() {
    return parkedAt;
  }

  @Nullable KeyWaiters place() {
    return place;
  }

  /** Parks it with a place at {@code gate}; it gives up a place that it has elsewhere. */
  void parkInTurn(LimitGate gate) {
    KeyWaiters kept = place;
    if (kept == null || kept.gate() != gate) {
      leavePlace();
      kept = flow.waitersAt(gate).keepPlace();
      place = kept;
    }
    parkedAt = gate;
    kept.park(this);
  }

  /** Parks it at {@code gate} without a place there. */
  void parkAt(LimitGate gate) {
    parkedAt = gate;
  }

  void leavePlace() {
    KeyWaiters kept = place;
    if (kept != null) {
      place = null;
      kept.leavePlace();
    }
  }

  /** Unparks the sub-queue, which keeps its place. */
  void unpark() {
    if (place != null) {
      place.unpark(this);
    }
    unlink();
    parkedAt = null;
  }

  @Override
  public long rank() {
    return head().sequence;
  }
}
