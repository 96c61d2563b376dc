package dev.sluice.internal.scheduler;

import dev.sluice.ScheduledItem;
import org.jspecify.annotations.Nullable;

/** Sees to it that who needs tokens of several gates at once gets them, even if all are scarce. */
public final class MultiLimitReservation {
  /*
   * Each gate lets it through in turn, but by the time one does, others have taken what the next one
   * had: without holding anything it could go to and fro for ever. So, after a few times, one
   * sub-queue in the whole scheduler may hold the tokens of a gate while it waits, before everybody
   * else, at the next. One at a time, because two could hold what the other waits for.
   *
   * A gate's tokens are held only if they are not wanted for longer than it takes to mint them anew;
   * a fast gate is never held up for a slow one. Held tokens are promises like any others, and count
   * as little if the queue has no credit.
   */

  /** Times to be sent on, for each gate of a set, before tokens are held. */
  private static final int PATIENCE = 2;

  private @Nullable SubQueue collecting;

  /** Whether some gate holds tokens for somebody who waits at another. */
  public boolean isCollecting() {
    return collecting != null;
  }

  /** {@code passed} let {@code sub} through, but {@code other} does not: there it waits now. */
  void bounce(SubQueue sub, LimitGate passed, LimitGate other, long nowNanos) {
    sub.bounces++;
    if (collecting == null && sub.bounces > PATIENCE * sub.head().set.gates.length) {
      collecting = sub;
    }
    if (collecting != sub) {
      other.park(sub, nowNanos);
    } else if (isWorthHolding(sub, passed, other, nowNanos)) {
      // A more urgent waiter may have taken the tokens held there.
      sub.letGo(other);
      sub.hold(passed);
      other.favour(sub);
    } else {
      collecting = null;
      other.park(sub, nowNanos);
    }
  }

  private static boolean isWorthHolding(
      SubQueue sub, LimitGate passed, LimitGate other, long nowNanos) {
    ScheduledItem<?> head = sub.head();
    long waitNanos = other.nanosUntil(head.tokensAt(other), nowNanos);
    return waitNanos <= passed.nanosToMint(head.tokensAt(passed))
        && sub.held.stream().allMatch(gate -> waitNanos <= gate.nanosToMint(head.tokensAt(gate)));
  }

  /** {@code sub} has what it needs. */
  void done(SubQueue sub) {
    sub.bounces = 0;
    if (collecting == sub) {
      collecting = null;
    }
  }

  /** Releases the tokens held for {@code sub}: it cannot go now. */
  void giveUp(SubQueue sub) {
    if (collecting == sub) {
      giveUp();
    }
  }

  /** Releases the tokens held for a sub-queue of {@code queue}. */
  void giveUp(QueueState queue) {
    if (collecting != null && collecting.flow.queue == queue) {
      giveUp();
    }
  }

  /** Releases all tokens that are held. */
  void giveUp() {
    SubQueue sub = collecting;
    if (sub != null) {
      collecting = null;
      sub.withdraw();
      LimitGate gate = sub.parkedAt;
      if (gate != null) {
        gate.leave(sub);
        sub.flow.ready(sub);
      }
    }
  }
}
