package dev.sluice;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Those of one queue who wait at one gate: by priority, then by weighted turns.
 *
 * <p>Linked in the line of its gate while somebody waits and the queue has credit; among the
 * stalled lanes of its queue when the gate found that it has none.
 */
final class Lane extends Ring.Link<Lane> {
  final Gate gate;
  final QueueState queue;

  /** By priority; null where nobody ever waited. */
  private @Nullable Turns<Seat>[] turns;

  /** Bit n is set while somebody of priority n waits. */
  private int priorities;

  /** Seats that somebody holds, in line or not. */
  int seats;

  /** Sub-queues that wait here. */
  int waiters;

  /** By priority, tokens kept for sub-queues of this queue that are ready. */
  private long[] promised = new long[1];

  @SuppressWarnings({"unchecked", "rawtypes"})
  Lane(Gate gate, QueueState queue) {
    this.gate = gate;
    this.queue = queue;
    this.turns = new Turns[1];
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

  void add(Seat seat, long cost) {
    int priority = seat.flow.band.priority;
    Turns<Seat> at = turns(priority);
    at.comeBack(seat);
    if (!seat.isNew()) {
      at.add(seat, cost);
    } else if (at.isBack(seat.flow.key)) {
      at.addLater(seat);
    } else {
      at.addFresh(seat);
    }
    priorities |= 1 << priority;
    gate.joined(this);
  }

  void remove(Seat seat) {
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
  void spent(Seat seat, long cost) {
    turns(seat.flow.band.priority).spent(seat, cost);
  }

  private Turns<Seat> turns(int priority) {
    if (priority >= turns.length) {
      turns = Arrays.copyOf(turns, priority + 1);
    }
    Turns<Seat> at = turns[priority];
    if (at == null) {
      at = new Turns<>();
      turns[priority] = at;
    }
    return at;
  }

  /** The sub-queue whose turn it is; null while the line waits for somebody who was let through. */
  @Nullable SubQueue turn(long nowNanos) {
    Turns<Seat> at = turns(queue.priorityToServe(priorities, nowNanos));
    Seat seat;
    while ((seat = at.first()) != null) {
      SubQueue sub = seat.parked.first();
      if (sub == null) {
        throw new IllegalStateException("an empty seat in the line at " + gate);
      }
      if (at.canSpend(seat, sub.head().cost)) {
        return sub;
      }
    }
    return null;
  }

  /** Adds those in line, the urgent ones first, as long as {@code all} has less than so many. */
  void list(List<Seat> all, int limit) {
    for (int i = turns.length - 1; i >= 0; i--) {
      Turns<Seat> at = turns[i];
      if (at != null) {
        at.list(all, limit);
      }
    }
  }

  /** {@code seat} was let through and may be back. */
  void goAway(Seat seat) {
    turns(seat.flow.band.priority).goAway(seat);
  }

  /** Nobody waits for {@code seat} to be back. */
  void doNotAwait(Seat seat) {
    if (turns(seat.flow.band.priority).comeBack(seat)) {
      gate.touch();
    }
  }

  /** {@code seat} is given up. */
  void forget(Seat seat) {
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
