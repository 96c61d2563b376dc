package dev.sluice.internal.scheduler;

import org.jspecify.annotations.Nullable;

/** Holds tokens for a sub-queue that needs tokens of several gates while all of them are scarce. */
final class MultiLimitReservation {
  /*
   * Each gate lets such a sub-queue through in turn, but by the time one does, others have taken the
   * tokens of the next: without holding anything it could go to and fro forever. So, after a few
   * times, one sub-queue of the whole scheduler may hold the tokens of a gate while it waits, before
   * all others, at the next. One at a time, because two could hold what the other waits for.
   *
   * A gate's tokens are held only if they are not wanted for longer than it takes to refill them, so
   * that a slow gate never delays a fast one. Held tokens are promises like any others: they do
   * not count while the queue has no credit.
   */

  /** Times to be sent on, for each gate of a set, before tokens are held. */
  private static final int PATIENCE = 2;

  private @Nullable SubQueue reserving;

  /** Returns whether a gate holds tokens for a sub-queue that waits at another. */
  boolean isReserving() {
    return reserving != null;
  }

  /** {@code passed} let {@code sub} through, but {@code other} does not: there it waits now. */
  void bounce(SubQueue sub, LimitGate passed, LimitGate other, long nowNanos) {
    int bounces = sub.countBounce();
    if (reserving == null && bounces > PATIENCE * sub.head().set.gates.length) {
      reserving = sub;
    }
    if (reserving != sub) {
      other.park(sub, nowNanos);
    } else if (isWorthHolding(sub, passed, other, nowNanos)) {
      // A more urgent waiter may have taken the tokens held there.
      sub.letGo(other);
      sub.hold(passed);
      other.waiters.addFirst(sub);
    } else {
      reserving = null;
      other.park(sub, nowNanos);
    }
  }

  private static boolean isWorthHolding(
      SubQueue sub, LimitGate passed, LimitGate other, long nowNanos) {
    QueuedItem<?> head = sub.head();
    long waitNanos = other.nanosUntil(head.tokensAt(other), nowNanos);
    return waitNanos <= passed.nanosToMint(head.tokensAt(passed))
        && sub.held().stream().allMatch(gate -> waitNanos <= gate.nanosToMint(head.tokensAt(gate)));
  }

  /** {@code sub} has what it needs. */
  void done(SubQueue sub) {
    sub.resetBounces();
    if (reserving == sub) {
      reserving = null;
    }
  }

  /** Releases the tokens held for {@code sub}: it cannot go now. */
  void release(SubQueue sub) {
    if (reserving == sub) {
      release();
    }
  }

  /** Releases the tokens held for a sub-queue of {@code queue}. */
  void release(QueueState queue) {
    if (reserving != null && reserving.flow.queue == queue) {
      release();
    }
  }

  /** Releases all tokens that are held. */
  void release() {
    SubQueue sub = reserving;
    if (sub != null) {
      reserving = null;
      sub.withdraw();
      LimitGate gate = sub.parkedAt();
      if (gate != null) {
        gate.waiters.remove(sub);
        sub.flow.ready(sub);
      }
    }
  }
}
