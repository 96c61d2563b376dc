package dev.sluice.redis.internal.connection;

import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The clock of this node and the thread on which its part in the fleet runs. */
public interface FleetScheduler extends AutoCloseable {
  long nanoTime();

  /** Runs {@code work} on the thread of the fleet; drops it once closed. */
  void execute(Runnable work);

  /** Runs {@code work} on the thread of the fleet, so much later; drops it once closed. */
  void after(long nanos, Runnable work);

  /** Tells the owner when the deadline of {@code call} passes and it is not done. */
  void watch(ScriptCall call);

  @Override
  void close();

  /**
   * Real time.
   *
   * @param threads what the names of its threads begin with
   * @param late is told of calls whose deadline has passed
   */
  static FleetScheduler system(String threads, Consumer<ScriptCall> late) {
    return new SystemTime(threads, late);
  }

  /** Real time, with one thread for work and one for deadlines. */
  final class SystemTime implements FleetScheduler {
    private final ScheduledThreadPoolExecutor timer;
    private final CallDeadlines deadlines;

    private SystemTime(String threads, Consumer<ScriptCall> late) {
      this.timer =
          new ScheduledThreadPoolExecutor(
              1,
              work -> {
                Thread thread = new Thread(work, threads + "-heartbeat");
                thread.setDaemon(true);
                return thread;
              },
              new ThreadPoolExecutor.DiscardPolicy());
      timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
      this.deadlines = new CallDeadlines(threads, late);
    }

    @Override
    public long nanoTime() {
      return System.nanoTime();
    }

    @Override
    public void execute(Runnable work) {
      timer.execute(work);
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // it tells by itself
    public void after(long nanos, Runnable work) {
      timer.schedule(work, nanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void watch(ScriptCall call) {
      deadlines.watch(call);
    }

    @Override
    public void close() {
      timer.shutdown();
      deadlines.close();
    }
  }
}
