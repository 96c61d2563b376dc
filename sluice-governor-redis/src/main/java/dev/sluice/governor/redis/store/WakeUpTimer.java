package dev.sluice.governor.redis.store;

import dev.sluice.governor.spi.StoreTimer;

/** When a model's line is looked at next. For any number of threads. */
final class WakeUpTimer {
  private static final long NEVER = Long.MAX_VALUE;

  private final StoreTimer timer;
  private final Runnable look;
  private long at = NEVER;

  WakeUpTimer(StoreTimer timer, Runnable look) {
    this.timer = timer;
    this.look = look;
  }

  /** After so long at the latest. */
  void by(long nanos) {
    long due;
    synchronized (this) {
      due = timer.nanoTime() + nanos;
      if (at <= due) {
        return;
      }
      at = due;
    }
    timer.schedule(nanos, () -> ring(due));
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
