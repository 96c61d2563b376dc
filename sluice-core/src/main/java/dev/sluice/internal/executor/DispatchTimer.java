package dev.sluice.internal.executor;

import dev.sluice.internal.time.ClockTimer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The alarm of an executor, set for the instant at which the next task can go. Guarded by the
 * executor's lock.
 */
final class DispatchTimer {
  private final ClockTimer alarms;
  private final Consumer<DispatchTimer.DueTime> action;
  private DispatchTimer.@Nullable DueTime next;

  /** {@code action} is called without the lock; it must take the lock and call {@link #wentOff}. */
  DispatchTimer(ClockTimer alarms, Consumer<DispatchTimer.DueTime> action) {
    this.alarms = alarms;
    this.action = action;
  }

  void at(long dueNanos) {
    if (next == null || next.dueNanos != dueNanos) {
      silence();
      DispatchTimer.DueTime due = new DispatchTimer.DueTime(dueNanos);
      due.alarm = alarms.at(dueNanos, () -> action.accept(due));
      next = due;
    }
  }

  void silence() {
    if (next != null && next.alarm != null) {
      next.alarm.cancel();
    }
    next = null;
  }

  void wentOff(DispatchTimer.DueTime due) {
    if (next == due) {
      next = null;
    }
  }

  /** An alarm that was set. */
  static final class DueTime {
    private final long dueNanos;
    private ClockTimer.@Nullable Timeout alarm;

    private DueTime(long dueNanos) {
      this.dueNanos = dueNanos;
    }
  }
}
