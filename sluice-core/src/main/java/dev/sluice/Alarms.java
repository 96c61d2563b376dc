package dev.sluice;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Runs something when a clock reaches an instant. */
interface Alarms {

  /** Runs {@code action} once when the clock reaches {@code dueNanos}, possibly a little early. */
  Alarm at(long dueNanos, Runnable action);

  /** Runs {@code action}, which may block, soon and without waiting for it. */
  void start(Runnable action);

  /** Something set to happen. */
  @FunctionalInterface
  interface Alarm {
    /** Prevents it, if it has not begun, and lets go of it at once. */
    void cancel();
  }

  /** The alarms of {@code clock}: its own if it is manual, else those of the one shared timer. */
  static Alarms of(NanoClock clock) {
    return clock instanceof ManualClock manual ? new OfManual(manual) : new OfTimer(clock);
  }

  /** Alarms that go off on the thread that advances the clock. */
  record OfManual(ManualClock clock) implements Alarms {
    @Override
    public Alarm at(long dueNanos, Runnable action) {
      return clock.alarmAt(dueNanos, action);
    }

    @Override
    public void start(Runnable action) {
      action.run();
    }
  }

  /** Alarms that go off on threads of the library. */
  record OfTimer(NanoClock clock) implements Alarms {
    @Override
    public Alarm at(long dueNanos, Runnable action) {
      return SharedTimer.after(dueNanos - clock.nanoTime(), action);
    }

    @Override
    public void start(Runnable action) {
      SharedTimer.start(action);
    }
  }

  /** One timer for all buckets; its daemon threads end when nothing has been set for a while. */
  final class SharedTimer {
    private static final long KEEP_ALIVE_SECONDS = 10;

    /** About what a thread takes to wake anyway; keeps a clock that lags from being polled. */
    private static final long MIN_DELAY_NANOS = 50_000;

    private static final ScheduledThreadPoolExecutor TIMER = timer();

    /**
     * Where actions run. They call user code, so that one may block without holding up the timer or
     * another bucket; the common pool would not do, it may have a single thread.
     */
    private static final Executor ACTIONS =
        new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            KEEP_ALIVE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            task -> DaemonThread.of(task, "sluice-waker"));

    private SharedTimer() {}

    static Alarm after(long delayNanos, Runnable action) {
      long delay = Math.max(MIN_DELAY_NANOS, delayNanos);
      ScheduledFuture<?> future = TIMER.schedule(() -> start(action), delay, TimeUnit.NANOSECONDS);
      return () -> future.cancel(false);
    }

    /** Without a thread to be had, on the timer's own: late is better than never. */
    private static void start(Runnable action) {
      try {
        ACTIONS.execute(action);
      } catch (OutOfMemoryError noThread) {
        action.run();
      }
    }

    private static ScheduledThreadPoolExecutor timer() {
      ScheduledThreadPoolExecutor timer =
          new ScheduledThreadPoolExecutor(1, task -> DaemonThread.of(task, "sluice-timer"));
      timer.setRemoveOnCancelPolicy(true);
      timer.setKeepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS);
      timer.allowCoreThreadTimeOut(true);
      return timer;
    }
  }
}
