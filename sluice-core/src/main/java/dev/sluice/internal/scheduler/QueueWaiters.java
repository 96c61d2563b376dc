package dev.sluice.internal.scheduler;

import dev.sluice.internal.util.IntrusiveList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The waiters of one queue at one limit gate: by priority, then by weighted turns of keys. */
final class QueueWaiters extends IntrusiveList.Link<QueueWaiters> {
  /*
   * Invariant.
   * - `places` is the number of KeyWaiters, and `size` that of the sub-queues parked under them.
   * - A KeyWaiters exists, in its flow and here, while a sub-queue of the key keeps its place.
   * - A KeyWaiters takes turns while a sub-queue is parked under it and its key has a slot.
   * - Bit n of `priorities` is set while a KeyWaiters of priority n takes turns. This is linked, in
   *   the turns of its gate or in the list of its queue without credit, while any bit is set.
   */
  final QueueState queue;
  private final LimitGate gate;

  /** The turns by priority; null where no key ever waited. */
  private @Nullable DeficitRoundRobin<KeyWaiters>[] turns;

  private int priorities;
  private int places;
  private int size;

  /** The tokens that are kept for ready sub-queues of this queue, by priority. */
  private long[] promised = new long[1];

  @SuppressWarnings({"unchecked", "rawtypes"})
  QueueWaiters(LimitGate gate, QueueState queue) {
    this.gate = gate;
    this.queue = queue;
    this.turns = new DeficitRoundRobin[1];
  }

  /** Creates the waiters of {@code flow}, which keeps them while they have a place. */
  KeyWaiters keyWaiters(KeyFlow flow) {
    places++;
    return new KeyWaiters(this, flow);
  }

  /** The queue has credit again: its waiters take turns at the gate. */
  void resume() {
    unlink();
    gate.waiters.takeTurns(this);
  }

  /** Asks the scheduler to look at the gate before it decides anything. */
  void touchGate() {
    gate.touch();
  }

  boolean isWaiting() {
    return priorities != 0;
  }

  /** Returns how many fairness keys keep a place, whether they wait or were let through. */
  int places() {
    return places;
  }

  /** Returns how many sub-queues wait in turn. */
  int size() {
    return size;
  }

  /**
   * Returns the tokens that no other waiter may have now.
   *
   * <p>Promises to priorities below the one that the queue serves now do not count, because it may
   * be long before they are kept.
   */
  long promised() {
    long tokens = 0;
    for (int i = queue.topPriority(); i < promised.length && queue.hasCredit(); i++) {
      tokens += promised[i];
    }
    return tokens;
  }

  boolean hasPromises() {
    for (long tokens : promised) {
      if (tokens > 0) {
        return true;
      }
    }
    return false;
  }

  /** Adds {@code tokens} to what is promised to a priority; negative ones take it back. */
  void promise(int priority, long tokens) {
    if (priority >= promised.length) {
      promised = Arrays.copyOf(promised, priority + 1);
    }
    promised[priority] += tokens;
    if (tokens < 0) {
      gate.touch();
    }
    gate.waiters.updateContest(this);
    dropIfUnused();
  }

  /** Returns the waiter whose turn it is; null while a round waits for a key to come back. */
  @Nullable SubQueue next(long nowNanos) {
    DeficitRoundRobin<KeyWaiters> at = turns(queue.priorityToServe(priorities, nowNanos));
    KeyWaiters key;
    while ((key = at.first()) != null) {
      SubQueue sub = key.parked.first();
      if (sub == null) {
        throw new IllegalStateException("a key without waiters takes turns at " + gate);
      }
      if (at.spendOrEndRound(key, sub.head().cost)) {
        return sub;
      }
    }
    return null;
  }

  /** Adds keys that take turns, urgent ones first, as long as {@code all} has less than so many. */
  void list(List<KeyWaiters> all, int limit) {
    for (int i = turns.length - 1; i >= 0; i--) {
      DeficitRoundRobin<KeyWaiters> at = turns[i];
      if (at != null) {
        at.list(all, limit);
      }
    }
  }

  private DeficitRoundRobin<KeyWaiters> turns(int priority) {
    if (priority >= turns.length) {
      turns = Arrays.copyOf(turns, priority + 1);
    }
    DeficitRoundRobin<KeyWaiters> at = turns[priority];
    if (at == null) {
      at = new DeficitRoundRobin<>();
      turns[priority] = at;
    }
    return at;
  }

  private void add(KeyWaiters key, long cost) {
    DeficitRoundRobin<KeyWaiters> at = key.turns();
    at.comeBack(key);
    if (!key.isNew()) {
      at.add(key, cost);
    } else if (at.reclaimTurn(key.flow.key)) {
      at.addLater(key);
    } else {
      at.addFresh(key);
    }
    priorities |= 1 << key.priority();
    gate.waiters.takeTurns(this);
  }

  private void remove(KeyWaiters key) {
    key.unlink();
    if (key.turns().isEmpty()) {
      priorities &= ~(1 << key.priority());
      if (priorities == 0) {
        unlink();
      }
    }
    gate.touch();
  }

  private void drop(KeyWaiters key) {
    places--;
    key.doNotAwait();
    key.turns().forget(key, key.flow.key);
    dropIfUnused();
  }

  private void dropIfUnused() {
    if (places == 0 && !hasPromises()) {
      gate.waiters.drop(this);
    }
  }

  /** The waiters of one fairness key and priority at one gate, with a deficit of their own. */
  static final class KeyWaiters extends DeficitRound.Member<KeyWaiters> {
    private final QueueWaiters ofQueue;
    private final KeyFlow flow;
    private final IntrusiveList<SubQueue> parked = new IntrusiveList<>();

    /** Sub-queues that keep their place: they wait here, or were let through and may be back. */
    private int holders;

    private KeyWaiters(QueueWaiters ofQueue, KeyFlow flow) {
      this.ofQueue = ofQueue;
      this.flow = flow;
    }

    LimitGate gate() {
      return ofQueue.gate;
    }

    KeyFlow flow() {
      return flow;
    }

    /** A sub-queue keeps its place here from now on. */
    KeyWaiters keepPlace() {
      holders++;
      return this;
    }

    /** A sub-queue gives up its place. */
    void leavePlace() {
      holders--;
      if (holders == 0) {
        stopTurns();
        flow.drop(this);
        ofQueue.drop(this);
      }
    }

    /** {@code sub}, which keeps its place here, waits. */
    void park(SubQueue sub) {
      parked.addLast(sub);
      ofQueue.size++;
      resume();
    }

    /** {@code sub} waits here no more, if it did. */
    void unpark(SubQueue sub) {
      if (sub.isIn(parked)) {
        sub.unlink();
        ofQueue.size--;
        if (parked.isEmpty()) {
          stopTurns();
        }
      }
    }

    /** Returns the sub-queues that wait here. */
    List<SubQueue> parked() {
      List<SubQueue> all = new ArrayList<>(1);
      parked.list(all, Integer.MAX_VALUE);
      return all;
    }

    /** Takes turns, if a sub-queue waits and the key has a slot. */
    void resume() {
      SubQueue next = parked.first();
      if (next != null && !isLinked() && flow.hasSlot()) {
        ofQueue.add(this, next.head().cost);
      }
    }

    /** The key has no slot: it takes no turns, and no round waits for it. */
    void suspend() {
      stopTurns();
      doNotAwait();
    }

    private void stopTurns() {
      if (isLinked()) {
        ofQueue.remove(this);
      }
    }

    /** Takes {@code cost} from the deficit: it is this key's turn. */
    void spendTurn(long cost) {
      turns().spent(this, cost);
    }

    /** Returns {@code cost} of a turn that was not used. */
    void returnTurn(long cost) {
      refund(cost);
      doNotAwait();
    }

    /** Waits for the next turn, or the round waits for this key to come back. */
    void endTurn() {
      stopTurns();
      resume();
      if (!isLinked()) {
        turns().goAway(this);
      }
    }

    /** The round does not wait for this key to come back. */
    private void doNotAwait() {
      if (turns().comeBack(this)) {
        ofQueue.gate.touch();
      }
    }

    private DeficitRoundRobin<KeyWaiters> turns() {
      return ofQueue.turns(priority());
    }

    private int priority() {
      return flow.level.priority;
    }

    @Override
    long quantum() {
      return flow.quantum();
    }
  }
}
