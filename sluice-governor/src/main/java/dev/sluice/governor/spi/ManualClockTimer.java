package dev.sluice.governor.spi;

import dev.sluice.ManualClock;
import dev.sluice.internal.time.ClockTimer;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A timer over a manual clock. Delayed actions run on the thread that advances the clock, callbacks
 * on the thread that adds them, one after the other. Thread-safe.
 */
final class ManualClockTimer implements StoreTimer {
  private final ManualClock clock;
  private final ClockTimer alarms;
  private final Queue<Runnable> callbacks = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean running = new AtomicBoolean();
  private volatile boolean closed;

  ManualClockTimer(ManualClock clock) {
    this.clock = clock;
    this.alarms = ClockTimer.of(clock);
  }

  @Override
  public long nanoTime() {
    return clock.nanoTime();
  }

  @Override
  public void schedule(long nanos, Runnable action) {
    var unused =
        alarms.at(
            clock.nanoTime() + nanos,
            () -> {
              if (!closed) {
                action.run();
              }
            });
  }

  /** A callback that adds others does not run them inside itself: the stack does not grow. */
  @Override
  public void execute(Runnable action) {
    callbacks.add(action);
    while (!callbacks.isEmpty() && running.compareAndSet(false, true)) {
      try {
        for (Runnable next = callbacks.poll(); next != null; next = callbacks.poll()) {
          next.run();
        }
      } finally {
        running.set(false);
      }
    }
  }

  @Override
  public void close() {
    closed = true;
  }
}
