package dev.sluice;

import java.util.Arrays;
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
  private @Nullable Round<Seat>[] rounds;

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
    this.rounds = new Round[1];
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
    round(priority).add(seat, cost);
    priorities |= 1 << priority;
    gate.joined(this);
  }

  void remove(Seat seat) {
    int priority = seat.flow.band.priority;
    seat.unlink();
    if (round(priority).isEmpty()) {
      priorities &= ~(1 << priority);
      if (priorities == 0) {
        unlink();
      }
    }
    gate.touch();
  }

  private Round<Seat> round(int priority) {
    if (priority >= rounds.length) {
      rounds = Arrays.copyOf(rounds, priority + 1);
    }
    Round<Seat> round = rounds[priority];
    if (round == null) {
      round = new Round<>();
      rounds[priority] = round;
    }
    return round;
  }

  /** The sub-queue whose turn it is; somebody must wait. */
  SubQueue turn(long nowNanos) {
    Round<Seat> round = round(queue.priorityToServe(priorities, nowNanos));
    Seat seat;
    while ((seat = round.first()) != null) {
      SubQueue sub = seat.parked.first();
      if (sub == null) {
        throw new IllegalStateException("an empty seat in the line at " + gate);
      }
      if (round.canSpend(seat, sub.head().cost)) {
        return sub;
      }
    }
    throw new IllegalStateException("nobody waits at " + gate);
  }

  void leaveIfUnused() {
    if (seats == 0 && !hasPromises()) {
      unlink();
      gate.drop(this);
    }
  }
}
