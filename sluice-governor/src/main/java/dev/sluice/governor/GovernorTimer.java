package dev.sluice.governor;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** What time it is, and something that happens later. */
interface GovernorTimer extends AutoCloseable {
  int IDLE_SECONDS = 5;
  int LOOK_MILLIS = 100;

  long now();

  /** Runs it after so long, perhaps a little later. */
  void after(long nanos, Runnable action);

  /** Runs it soon, whatever else blocks, and never within this call of somebody's own work. */
  void execute(Runnable action);

  @Override
  void close();

  /**
   * By the system's monotonic clock, on a daemon thread of its own; callbacks on others, as many as
   * block at a time.
   */
  static GovernorTimer system() {
    ScheduledExecutorService thread =
        Executors.newSingleThreadScheduledExecutor(daemons("sluice-governor"));
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            daemons("sluice-governor-callbacks"));
    Callbacks callbacks = new Callbacks(threads);
    var unused =
        thread.scheduleWithFixedDelay(
            callbacks::look, LOOK_MILLIS, LOOK_MILLIS, TimeUnit.MILLISECONDS);
    return new GovernorTimer() {
      @Override
      public long now() {
        return System.nanoTime();
      }

      @Override
      @SuppressWarnings("FutureReturnValueIgnored") // it ends with the thread
      public void after(long nanos, Runnable action) {
        thread.schedule(action, nanos, TimeUnit.NANOSECONDS);
      }

      @Override
      public void execute(Runnable action) {
        callbacks.add(action);
      }

      @Override
      public void close() {
        thread.shutdownNow();
        callbacks.close();
        threads.shutdown();
      }
    };
  }

  private static ThreadFactory daemons(String name) {
    return work -> {
      Thread daemon = new Thread(work, name);
      daemon.setDaemon(true);
      return daemon;
    };
  }
}
