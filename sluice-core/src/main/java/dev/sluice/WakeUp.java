package dev.sluice;

import dev.sluice.Alarms.Alarm;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The alarm of an executor, set for the instant at which the next task can go. Guarded by the
 * executor's lock.
 */
final class WakeUp {
  private final Alarms alarms;
  private final Consumer<Due> action;
  private @Nullable Due next;

  /** {@code action} is called without the lock; it must take the lock and call {@link #wentOff}. */
  WakeUp(Alarms alarms, Consumer<Due> action) {
    this.alarms = alarms;
    this.action = action;
  }

  void at(long dueNanos) {
    if (next == null || next.dueNanos != dueNanos) {
      silence();
      Due due = new Due(dueNanos);
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

  void wentOff(Due due) {
    if (next == due) {
      next = null;
    }
  }

  /** An alarm that was set. */
  static final class Due {
    private final long dueNanos;
    private @Nullable Alarm alarm;

    private Due(long dueNanos) {
      this.dueNanos = dueNanos;
    }
  }
}
