package dev.sluice.internal.time;

import static dev.sluice.internal.util.Preconditions.requireNonNegative;

import dev.sluice.ManualClock;
import java.time.Duration;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/** The manual clock: a reading, and the alarms that go off as it is advanced. */
public final class SimulatedClock implements ManualClock {
  private static final Duration MAX_ADVANCE = Duration.ofNanos(Long.MAX_VALUE);

  private final Object lock = new Object();

  /** Written under {@code lock}. */
  private volatile long nanos;

  // Guarded by lock. Alarms are compared by their distance from the present, which may wrap.
  private long targetNanos;
  private long sequence;
  private final PriorityQueue<ManualAlarm> alarms = new PriorityQueue<>();

  public SimulatedClock(long startNanos) {
    this.nanos = startNanos;
    this.targetNanos = startNanos;
  }

  @Override
  public long nanoTime() {
    return nanos;
  }

  @Override
  public void advance(Duration duration) {
    if (duration.compareTo(MAX_ADVANCE) > 0) {
      throw new IllegalArgumentException(
          "duration must be at most " + MAX_ADVANCE + ", but was " + duration);
    }
    advanceNanos(duration.toNanos());
  }

  @Override
  public void advanceNanos(long deltaNanos) {
    requireNonNegative("deltaNanos", deltaNanos);
    synchronized (lock) {
      targetNanos += deltaNanos;
    }
    for (Runnable action = step(); action != null; action = step()) {
      action.run();
    }
  }

  /** Moves to the next alarm on the way, or else to the target. */
  private @Nullable Runnable step() {
    synchronized (lock) {
      ManualAlarm next = alarms.peek();
      if (next == null || next.dueNanos - targetNanos > 0) {
        nanos = targetNanos;
        return null;
      }
      alarms.remove();
      if (next.dueNanos - nanos > 0) {
        nanos = next.dueNanos;
      }
      return next.action;
    }
  }

  ClockTimer.Timeout alarmAt(long dueNanos, Runnable action) {
    synchronized (lock) {
      ManualAlarm alarm = new ManualAlarm(dueNanos, sequence++, action);
      alarms.add(alarm);
      return alarm;
    }
  }

  /** Returns the number of pending alarms; for tests. */
  public int pendingAlarms() {
    synchronized (lock) {
      return alarms.size();
    }
  }

  private final class ManualAlarm implements ClockTimer.Timeout, Comparable<ManualAlarm> {
    final long dueNanos;
    final long sequence;
    final Runnable action;

    ManualAlarm(long dueNanos, long sequence, Runnable action) {
      this.dueNanos = dueNanos;
      this.sequence = sequence;
      this.action = action;
    }

    @Override
    public void cancel() {
      synchronized (lock) {
        alarms.remove(this);
      }
    }

    @Override
    public int compareTo(ManualAlarm other) {
      int byTime = Long.signum(dueNanos - other.dueNanos);
      return byTime != 0 ? byTime : Long.compare(sequence, other.sequence);
    }
  }

  @Override
  public String toString() {
    return "ManualClock[nanos=" + nanos + "]";
  }
}
