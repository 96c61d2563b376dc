package dev.sluice.internal.time;

import dev.sluice.NanoClock;
import dev.sluice.internal.util.DaemonThreads;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Runs something when a clock reaches an instant. */
public interface ClockTimer {

  /** Runs {@code action} once when the clock reaches {@code dueNanos}, possibly a little early. */
  ClockTimer.Timeout at(long dueNanos, Runnable action);

  /** Runs {@code action}, which may block, soon and without waiting for it. */
  void start(Runnable action);

  /** Something set to happen. */
  @FunctionalInterface
  interface Timeout {
    /** Prevents it, if it has not begun, and lets go of it at once. */
    void cancel();
  }

  /** The alarms of {@code clock}: its own if it is manual, else those of the one shared timer. */
  static ClockTimer of(NanoClock clock) {
    return clock instanceof SimulatedClock manual
        ? new ClockTimer.ManualTimer(manual)
        : new ClockTimer.SharedThreadTimer(clock);
  }

  /** Alarms that go off on the thread that advances the clock. */
  record ManualTimer(SimulatedClock clock) implements ClockTimer {
    @Override
    public ClockTimer.Timeout at(long dueNanos, Runnable action) {
      return clock.alarmAt(dueNanos, action);
    }

    @Override
    public void start(Runnable action) {
      action.run();
    }
  }

  /** Alarms that go off on threads of the library. */
  record SharedThreadTimer(NanoClock clock) implements ClockTimer {
    @Override
    public ClockTimer.Timeout at(long dueNanos, Runnable action) {
      return ClockTimer.TimerThread.after(dueNanos - clock.nanoTime(), action);
    }

    @Override
    public void start(Runnable action) {
      ClockTimer.TimerThread.start(action);
    }
  }

  /** The timer of all buckets; its daemon threads end when no alarm has been set for a while. */
  final class TimerThread {
    private static final long KEEP_ALIVE_SECONDS = 10;

    /** About what a thread takes to wake anyway; keeps a clock that lags from being polled. */
    private static final long MIN_DELAY_NANOS = 50_000;

    private static final ScheduledThreadPoolExecutor TIMER = timer();

    /**
     * Runs actions. They call user code, which may block without delaying the timer or another
     * bucket; the common pool would not do, it may have a single thread.
     */
    private static final Executor ACTIONS =
        new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            KEEP_ALIVE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            task -> DaemonThreads.of(task, "sluice-waker"));

    private TimerThread() {}

    static ClockTimer.Timeout after(long delayNanos, Runnable action) {
      long delay = Math.max(MIN_DELAY_NANOS, delayNanos);
      ScheduledFuture<?> future = TIMER.schedule(() -> start(action), delay, TimeUnit.NANOSECONDS);
      return () -> future.cancel(false);
    }

    /** Runs an action on a thread of its own or, if none can be created, on that of the timer. */
    private static void start(Runnable action) {
      try {
        ACTIONS.execute(action);
      } catch (OutOfMemoryError noThread) {
        action.run();
      }
    }

    private static ScheduledThreadPoolExecutor timer() {
      ScheduledThreadPoolExecutor timer =
          new ScheduledThreadPoolExecutor(1, task -> DaemonThreads.of(task, "sluice-timer"));
      timer.setRemoveOnCancelPolicy(true);
      timer.setKeepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS);
      timer.allowCoreThreadTimeOut(true);
      return timer;
    }
  }
}
