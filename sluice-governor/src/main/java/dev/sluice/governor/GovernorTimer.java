package dev.sluice.governor;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** What time it is, and something that happens later. */
interface GovernorTimer extends AutoCloseable {
  long now();

  /** Runs it after so long, perhaps a little later. */
  void after(long nanos, Runnable action);

  @Override
  void close();

  /** By the system's monotonic clock, on a daemon thread of its own. */
  static GovernorTimer system() {
    ScheduledExecutorService thread =
        Executors.newSingleThreadScheduledExecutor(
            work -> {
              Thread daemon = new Thread(work, "sluice-governor");
              daemon.setDaemon(true);
              return daemon;
            });
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
      public void close() {
        thread.shutdownNow();
      }
    };
  }
}
