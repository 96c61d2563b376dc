package dev.sluice.internal.scheduler;

import dev.sluice.LimitStats;
import dev.sluice.internal.scheduler.QueueWaiters.KeyWaiters;
import dev.sluice.internal.util.IntrusiveList;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The waiters of one limit gate: queues take turns, and within a queue fairness keys do. */
final class GateWaiters {
  /*
   * Invariant. A sub-queue that is parked at the gate waits here in exactly one of three ways:
   *
   *   in turn      among the waiters of its fairness key, see QueueWaiters
   *   first        at most one, because other gates hold tokens for it
   *   unservable   time alone never brings the tokens of its head under the present limit
   *
   * A queue has a QueueWaiters here, in `queues`, while one of its keys keeps a place or the gate
   * promised it tokens. It is linked in `turns` while one of its keys waits in turn, unless it was
   * found without credit: then it is linked in the list of its queue, which brings it back.
   */

  /** Bounds the items that statistics add up, because the scheduler waits meanwhile. */
  private static final int MAX_SUMMED_ITEMS = 10_000;

  private final LimitGate gate;
  private final IntrusiveList<QueueWaiters> turns = new IntrusiveList<>();
  private final List<QueueWaiters> queues = new ArrayList<>(1);

  /**
   * Waiters that this bucket can never serve: if it refills, their heads take more than its burst.
   */
  private final IntrusiveList<SubQueue> unservable = new IntrusiveList<>();

  private @Nullable SubQueue first;

  /** The queue for which the gate is armed, if a smaller cost than its could go earlier. */
  private @Nullable QueueWaiters armedFor;

  GateWaiters(LimitGate gate) {
    this.gate = gate;
  }

  /** Parks {@code sub} until its turn comes. */
  void add(SubQueue sub) {
    sub.parkInTurn(gate);
  }

  /** Parks {@code sub} before all others. */
  void addFirst(SubQueue sub) {
    sub.parkAt(gate);
    first = sub;
    gate.touch();
  }

  /** Parks {@code sub}, which no turn helps, until {@link #removeUnservable}. */
  void addUnservable(SubQueue sub) {
    sub.leavePlace();
    sub.parkAt(gate);
    unservable.addLast(sub);
  }

  /** {@code sub} waits here no more; it keeps its place. */
  void remove(SubQueue sub) {
    if (first == sub) {
      first = null;
      gate.touch();
    }
    sub.unpark();
  }

  /** Removes and returns an unservable sub-queue; null if there is none. */
  @Nullable SubQueue removeUnservable() {
    SubQueue sub = unservable.first();
    if (sub != null) {
      sub.unpark();
    }
    return sub;
  }

  /** Charges {@code sub} for its turn; then it waits here no more, and others have theirs. */
  void endTurn(SubQueue sub) {
    KeyWaiters place = sub.place();
    if (place != null) {
      place.spendTurn(sub.head().cost);
    }
    remove(sub);
    if (place != null) {
      place.endTurn();
    }
    QueueWaiters served = of(sub.flow.queue);
    if (served.isIn(turns)) {
      served.unlink();
      turns.addLast(served);
    }
  }

  /** Returns the waiter that goes next; null if none may go now. */
  @Nullable SubQueue next(long nowNanos) {
    if (first != null) {
      return first;
    }
    skipQueuesWithoutCredit();
    for (QueueWaiters each = turns.first(); each != null; each = each.after()) {
      SubQueue sub = each.queue.hasCredit() ? each.next(nowNanos) : null;
      if (sub != null) {
        return sub;
      }
    }
    return null;
  }

  /**
   * Unlinks queues without credit until one with credit comes first; returns whether a waiter is
   * left that may go.
   */
  boolean skipQueuesWithoutCredit() {
    if (first != null) {
      return true;
    }
    QueueWaiters next = turns.first();
    while (next != null && !next.queue.hasCredit()) {
      next.unlink();
      next.queue.withoutCredit.addLast(next);
      next = turns.first();
    }
    return next != null;
  }

  /** {@code waiting} has a new waiter in turn, or credit again. */
  void takeTurns(QueueWaiters waiting) {
    if (!waiting.isLinked()) {
      turns.addLast(waiting);
    }
    gate.touch();
  }

  /** Returns the waiters of {@code queue}, at first none. */
  QueueWaiters of(QueueState queue) {
    for (QueueWaiters each : queues) {
      if (each.queue == queue) {
        return each;
      }
    }
    QueueWaiters added = new QueueWaiters(gate, queue);
    queues.add(added);
    updateContests();
    return added;
  }

  /** Forgets {@code unused}, which keeps no place and no promise. */
  void drop(QueueWaiters unused) {
    unused.unlink();
    queues.remove(unused);
    unused.queue.contested.remove(unused);
    if (armedFor == unused) {
      armedFor = null;
    }
    updateContests();
  }

  /** Notes for which queue the gate is armed; null if a smaller cost could not go earlier. */
  void armFor(@Nullable QueueWaiters waiting) {
    armedFor = waiting;
    if (waiting != null) {
      updateContest(waiting);
    }
  }

  private void updateContests() {
    for (QueueWaiters each : queues) {
      updateContest(each);
    }
  }

  /** Contested: other queues may go here should this one run out of credit. */
  void updateContest(QueueWaiters waiting) {
    if (isShared() && (waiting.hasPromises() || armedFor == waiting)) {
      waiting.queue.contested.add(waiting);
    } else {
      waiting.queue.contested.remove(waiting);
    }
  }

  /** Returns whether several queues are here. */
  boolean isShared() {
    return queues.size() > 1;
  }

  /** Returns whether a sub-queue of {@code queue} waits here that time can serve. */
  boolean isAwaitedBy(QueueState queue) {
    if (first != null && first.flow.queue == queue) {
      return true;
    }
    return queues.stream().anyMatch(each -> each.queue == queue && each.isWaiting());
  }

  /** Returns whether another fairness key than that of {@code sub} keeps a place here. */
  boolean hasOtherPlaces(SubQueue sub) {
    KeyWaiters own = sub.place();
    int others = own != null && own.gate() == gate ? -1 : 0;
    for (QueueWaiters each : queues) {
      others += each.queue.hasCredit() ? each.places() : 0;
    }
    return others > 0;
  }

  /** Returns the tokens that are promised and that no other waiter may have now. */
  long promised() {
    long tokens = 0;
    for (QueueWaiters each : queues) {
      tokens += each.promised();
    }
    return tokens;
  }

  /** Returns how many sub-queues wait here. */
  int size() {
    int waiting = unservable.size() + (first == null ? 0 : 1);
    for (QueueWaiters each : queues) {
      waiting += each.size();
    }
    return waiting;
  }

  /** Returns the weights of the fairness keys of {@code queue} that wait here, each once. */
  long weightOf(QueueState queue) {
    Map<String, Integer> weights = new HashMap<>();
    List<KeyWaiters> keys = new ArrayList<>();
    for (QueueWaiters each : queues) {
      if (each.queue == queue) {
        each.list(keys, Integer.MAX_VALUE);
      }
    }
    keys.forEach(key -> weights.put(key.flow().key, key.flow().weight()));
    for (SubQueue sub = unservable.first(); sub != null; sub = sub.after()) {
      addWeight(sub, queue, weights);
    }
    if (first != null) {
      addWeight(first, queue, weights);
    }
    return weights.values().stream().mapToLong(each -> each).sum();
  }

  private static void addWeight(SubQueue sub, QueueState queue, Map<String, Integer> weights) {
    if (sub.flow.queue == queue) {
      weights.put(sub.flow.key, sub.flow.weight());
    }
  }

  /** Returns the cost of the first waiter that time never lets go; empty without one. */
  OptionalLong impossibleCost() {
    SubQueue never = unservable.first();
    return never == null ? OptionalLong.empty() : OptionalLong.of(never.head().tokensAt(gate));
  }

  /** Returns at most {@code limit} waiters, about in the order in which they go. */
  List<LimitStats.Waiter> list(int limit) {
    List<List<SubQueue>> found = new ArrayList<>();
    if (first != null && limit > 0) {
      found.add(List.of(first));
    }
    List<KeyWaiters> keys = new ArrayList<>();
    for (QueueWaiters each : queues) {
      each.list(keys, limit - found.size());
    }
    keys.forEach(key -> found.add(key.parked()));
    for (SubQueue sub = unservable.first(); sub != null && found.size() < limit; ) {
      found.add(List.of(sub));
      sub = sub.after();
    }
    int most = Math.max(1, MAX_SUMMED_ITEMS / Math.max(1, found.size()));
    return found.stream().map(each -> waiter(each, most)).toList();
  }

  /**
   * Returns the waiter for the console. Beyond {@code most} items, tokens are estimated from the
   * first ones.
   */
  private LimitStats.Waiter waiter(List<SubQueue> subs, int most) {
    long items = 0;
    long seen = 0;
    double tokens = 0;
    for (SubQueue sub : subs) {
      items += sub.items.size();
      QueuedItem<?> item = sub.head();
      for (; item != null && seen < most; item = item.after()) {
        tokens += item.tokensAt(gate);
        seen++;
      }
    }
    SubQueue next = subs.get(0);
    return new LimitStats.Waiter(
        next.flow.queue.name,
        next.flow.key,
        (int) items,
        Math.round(tokens * items / seen),
        next.head().tokensAt(gate));
  }
}
