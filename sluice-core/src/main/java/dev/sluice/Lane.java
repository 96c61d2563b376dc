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
  private @Nullable Ring<Seat>[] rings;

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
    this.rings = new Ring[1];
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

  void add(Seat seat) {
    Ring<Seat> ring = ring(seat.flow.band.priority);
    if (seat.inTurn) {
      ring.addFirst(seat);
    } else {
      ring.addLast(seat);
    }
    priorities |= 1 << seat.flow.band.priority;
    gate.joined(this);
  }

  void remove(Seat seat) {
    int priority = seat.flow.band.priority;
    seat.unlink();
    if (ring(priority).isEmpty()) {
      priorities &= ~(1 << priority);
      if (priorities == 0) {
        unlink();
      }
    }
    gate.touch();
  }

  private Ring<Seat> ring(int priority) {
    if (priority >= rings.length) {
      rings = Arrays.copyOf(rings, priority + 1);
    }
    Ring<Seat> ring = rings[priority];
    if (ring == null) {
      ring = new Ring<>();
      rings[priority] = ring;
    }
    return ring;
  }

  /** Whose turn it is; somebody must wait. */
  Seat turn(long nowNanos) {
    Ring<Seat> ring = ring(queue.priorityToServe(priorities, nowNanos));
    for (; ; ) {
      Seat seat = ring.first();
      if (seat == null) {
        throw new IllegalStateException("nobody waits at " + gate);
      }
      SubQueue sub = seat.parked.first();
      if (sub == null) {
        throw new IllegalStateException("an empty seat in the line at " + gate);
      }
      if (!seat.inTurn) {
        seat.inTurn = true;
        seat.deficit += seat.flow.quantum();
      }
      if (seat.deficit >= sub.head().cost) {
        return seat;
      }
      seat.inTurn = false;
      ring.rotate();
    }
  }

  void leaveIfUnused() {
    if (seats == 0 && !hasPromises()) {
      unlink();
      gate.drop(this);
    }
  }
}
