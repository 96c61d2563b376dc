package dev.sluice.internal.scheduler;

import dev.sluice.internal.util.IntrusiveList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Those of one queue who wait at one gate: by priority, then by weighted turns.
 *
 * <p>Linked in the line of its gate while somebody waits and the queue has credit; among the
 * stalled lanes of its queue when the gate found that it has none.
 */
final class QueueWaiters extends IntrusiveList.Link<QueueWaiters> {
  final LimitGate gate;
  final QueueState queue;

  /** By priority; null where nobody ever waited. */
  private @Nullable DeficitRoundRobin<KeyWaiters>[] turns;

  /** Bit n is set while somebody of priority n waits. */
  private int priorities;

  /** Seats that somebody holds, in line or not. */
  int seats;

  /** Sub-queues that wait here. */
  int waiters;

  /** By priority, tokens kept for sub-queues of this queue that are ready. */
  private long[] promised = new long[1];

  @SuppressWarnings({"unchecked", "rawtypes"})
  QueueWaiters(LimitGate gate, QueueState queue) {
    this.gate = gate;
    this.queue = queue;
    this.turns = new DeficitRoundRobin[1];
  }

  boolean isWaiting() {
    return priorities != 0;
  }

  /**
   * Tokens that nobody else may have now.
   *
   * <p>Promises to priorities below the one that the queue serves now do not count, for they may
   * wait long to be kept.
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

  void promise(int priority, long tokens) {
    if (priority >= promised.length) {
      promised = Arrays.copyOf(promised, priority + 1);
    }
    promised[priority] += tokens;
    if (tokens < 0) {
      gate.touch();
    }
    gate.updateContest(this);
    leaveIfUnused();
  }

  void add(KeyWaiters seat, long cost) {
    int priority = seat.flow.band.priority;
    DeficitRoundRobin<KeyWaiters> at = turns(priority);
    at.comeBack(seat);
    if (!seat.isNew()) {
      at.add(seat, cost);
    } else if (at.reclaimTurn(seat.flow.key)) {
      at.addLater(seat);
    } else {
      at.addFresh(seat);
    }
    priorities |= 1 << priority;
    gate.joined(this);
  }

  void remove(KeyWaiters seat) {
    int priority = seat.flow.band.priority;
    seat.unlink();
    if (turns(priority).isEmpty()) {
      priorities &= ~(1 << priority);
      if (priorities == 0) {
        unlink();
      }
    }
    gate.touch();
  }

  /** {@code seat} is let through, for {@code cost}. */
  void spent(KeyWaiters seat, long cost) {
    turns(seat.flow.band.priority).spent(seat, cost);
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

  /** The sub-queue whose turn it is; null while the line waits for somebody who was let through. */
  @Nullable SubQueue turn(long nowNanos) {
    DeficitRoundRobin<KeyWaiters> at = turns(queue.priorityToServe(priorities, nowNanos));
    KeyWaiters seat;
    while ((seat = at.first()) != null) {
      SubQueue sub = seat.parked.first();
      if (sub == null) {
        throw new IllegalStateException("an empty seat in the line at " + gate);
      }
      if (at.spendOrEndRound(seat, sub.head().cost)) {
        return sub;
      }
    }
    return null;
  }

  /** Adds those in line, the urgent ones first, as long as {@code all} has less than so many. */
  void list(List<KeyWaiters> all, int limit) {
    for (int i = turns.length - 1; i >= 0; i--) {
      DeficitRoundRobin<KeyWaiters> at = turns[i];
      if (at != null) {
        at.list(all, limit);
      }
    }
  }

  /** {@code seat} was let through and may be back. */
  void goAway(KeyWaiters seat) {
    turns(seat.flow.band.priority).goAway(seat);
  }

  /** Stops expecting {@code seat} to return. */
  void doNotAwait(KeyWaiters seat) {
    if (turns(seat.flow.band.priority).comeBack(seat)) {
      gate.touch();
    }
  }

  /** {@code seat} is given up. */
  void forget(KeyWaiters seat) {
    seats--;
    doNotAwait(seat);
    turns(seat.flow.band.priority).forget(seat, seat.flow.key);
    leaveIfUnused();
  }

  void leaveIfUnused() {
    if (seats == 0 && !hasPromises()) {
      unlink();
      gate.drop(this);
    }
  }
}
