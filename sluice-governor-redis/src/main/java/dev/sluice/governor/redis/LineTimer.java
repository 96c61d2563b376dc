package dev.sluice.governor.redis;

import dev.sluice.governor.GovernorTimer;

/** When a model's line is looked at next. For any number of threads. */
final class LineTimer {
  private static final long NEVER = Long.MAX_VALUE;

  private final GovernorTimer timer;
  private final Runnable look;
  private long at = NEVER;

  LineTimer(GovernorTimer timer, Runnable look) {
    this.timer = timer;
    this.look = look;
  }

  /** After so long at the latest. */
  void by(long nanos) {
    long due;
    synchronized (this) {
      due = timer.now() + nanos;
      if (at <= due) {
        return;
      }
      at = due;
    }
    timer.after(nanos, () -> ring(due));
  }

  private void ring(long due) {
    synchronized (this) {
      if (at != due) {
        // An earlier one has replaced it.
        return;
      }
      at = NEVER;
    }
    look.run();
  }
}
