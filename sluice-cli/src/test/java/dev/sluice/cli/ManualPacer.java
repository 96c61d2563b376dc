package dev.sluice.cli;

import dev.sluice.ManualClock;
import dev.sluice.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Simulated time in steps of a millisecond: nobody waits, and every run is the same. */
class ManualPacer implements Pacer {
  private static final long STEP_NANOS = 1_000_000;

  private final ManualClock clock = ManualClock.create();
  private final List<Task> tasks = new ArrayList<>();
  private final long stopNanos;

  private record Task(long periodNanos, Runnable action) {}

  ManualPacer() {
    this(Duration.ofDays(1));
  }

  /** Behaves as if the user pressed Ctrl-C after {@code stop}. */
  ManualPacer(Duration stop) {
    this.stopNanos = stop.toNanos();
  }

  @Override
  public NanoClock clock() {
    return clock;
  }

  @Override
  public void every(Duration period, Runnable action) {
    tasks.add(new Task(period.toNanos(), action));
  }

  @Override
  public boolean sleepUntil(long nanos) {
    while (clock.nanoTime() < Math.min(nanos, stopNanos)) {
      act();
      clock.advanceNanos(STEP_NANOS);
    }
    return clock.nanoTime() < stopNanos;
  }

  void act() {
    for (Task task : tasks) {
      if (clock.nanoTime() % task.periodNanos == 0) {
        task.action.run();
      }
    }
  }

  @Override
  public void stopActions() {
    tasks.clear();
  }

  @Override
  public void close() {}
}
