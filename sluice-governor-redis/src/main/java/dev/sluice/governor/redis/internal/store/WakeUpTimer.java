package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.spi.StoreTimer;

/** Runs an action at the earliest of the requested times. Thread-safe. */
final class WakeUpTimer {
  private static final long NEVER = Long.MAX_VALUE;

  private final StoreTimer timer;
  private final Runnable action;
  private long at = NEVER;

  WakeUpTimer(StoreTimer timer, Runnable action) {
    this.timer = timer;
    this.action = action;
  }

  /** Runs the action after so long at the latest. */
  void by(long nanos) {
    long due;
    synchronized (this) {
      due = timer.nanoTime() + nanos;
      if (at <= due) {
        return;
      }
      at = due;
    }
    timer.schedule(nanos, () -> fire(due));
  }

  private void fire(long due) {
    synchronized (this) {
      if (at != due) {
        // An earlier time has replaced this one.
        return;
      }
      at = NEVER;
    }
    action.run();
  }
}
