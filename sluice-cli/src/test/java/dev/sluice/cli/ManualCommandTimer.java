package dev.sluice.cli;

import dev.sluice.ManualClock;
import dev.sluice.NanoClock;
import dev.sluice.cli.runtime.CommandTimer;
import java.time.Duration;

/** Simulated time: tests do not wait, and every run is the same. */
final class ManualCommandTimer implements CommandTimer {
  private final ManualClock clock = ManualClock.create();
  private final long stopNanos;

  ManualCommandTimer() {
    this(Duration.ofDays(1));
  }

  /** Behaves as if the user pressed Ctrl-C after {@code stop}. */
  ManualCommandTimer(Duration stop) {
    this.stopNanos = stop.toNanos();
  }

  @Override
  public NanoClock clock() {
    return clock;
  }

  @Override
  public boolean sleepUntil(long nanos) {
    clock.advanceNanos(Math.max(0, Math.min(nanos, stopNanos) - clock.nanoTime()));
    return clock.nanoTime() < stopNanos;
  }

  @Override
  public void close() {}
}
