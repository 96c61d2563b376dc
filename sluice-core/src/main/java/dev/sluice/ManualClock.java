package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requireNonNegative;

import dev.sluice.internal.time.ClockTimer;
import java.time.Duration;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * A clock that moves only when told: time without waiting, for tests and simulations.
 *
 * <p>Callers waiting on a bucket with this clock are served by {@link #advance}, on the thread that
 * calls it and in the order they fall due, each while the clock shows the instant it was due at.
 * Thread-safe. A caller served early, by a call with a later instant than this clock shows, has its
 * future completed when the clock is moved or the line is next used.
 *
 * @since 0.1
 */
public final class ManualClock implements NanoClock {
  private static final Duration MAX_ADVANCE = Duration.ofNanos(Long.MAX_VALUE);

  private final Object lock = new Object();

  /** Written under {@code lock}. */
  private volatile long nanos;

  // Guarded by lock. Alarms are compared by their distance from the present, which may wrap.
  private long targetNanos;
  private long sequence;
  private final PriorityQueue<ManualAlarm> alarms = new PriorityQueue<>();

  private ManualClock(long startNanos) {
    this.nanos = startNanos;
    this.targetNanos = startNanos;
  }

  /**
   * A clock that shows zero.
   *
   * @return a new clock
   */
  public static ManualClock create() {
    return startingAt(0);
  }

  /**
   * A clock that shows {@code startNanos}.
   *
   * @param startNanos the first reading, any value
   * @return a new clock
   */
  public static ManualClock startingAt(long startNanos) {
    return new ManualClock(startNanos);
  }

  @Override
  public long nanoTime() {
    return nanos;
  }

  /**
   * Moves on and serves, one after the other, everybody who falls due on the way.
   *
   * @param duration how far, not negative
   * @throws IllegalArgumentException if {@code duration} is negative
   */
  public void advance(Duration duration) {
    if (duration.compareTo(MAX_ADVANCE) > 0) {
      throw new IllegalArgumentException(
          "duration must be at most " + MAX_ADVANCE + ": duration=" + duration);
    }
    advanceNanos(duration.toNanos());
  }

  /**
   * Moves on and serves, one after the other, everybody who falls due on the way.
   *
   * @param deltaNanos how far, not negative
   * @throws IllegalArgumentException if {@code deltaNanos} is negative
   */
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

  public ClockTimer.Timeout alarmAt(long dueNanos, Runnable action) {
    synchronized (lock) {
      ManualAlarm alarm = new ManualAlarm(dueNanos, sequence++, action);
      alarms.add(alarm);
      return alarm;
    }
  }

  /** Alarms set and not yet gone off. */
  int pendingAlarms() {
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
