package dev.sluice.governor.spi;

import dev.sluice.NanoClock;
import dev.sluice.internal.util.DaemonThreads;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** A timer over a clock that advances as the system's does, with threads of its own. */
final class SystemStoreTimer implements StoreTimer {
  private static final int IDLE_SECONDS = 5;
  private static final int LOOK_MILLIS = 100;

  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(daemons("sluice-governor"));
  private final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          daemons("sluice-governor-callbacks"));
  private final CallbackThreads callbacks = new CallbackThreads(threads);

  private final NanoClock clock;

  SystemStoreTimer(NanoClock clock) {
    this.clock = clock;
    var unused =
        thread.scheduleWithFixedDelay(
            callbacks::look, LOOK_MILLIS, LOOK_MILLIS, TimeUnit.MILLISECONDS);
  }

  private static ThreadFactory daemons(String name) {
    return work -> DaemonThreads.of(work, name);
  }

  @Override
  public long nanoTime() {
    return clock.nanoTime();
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // it ends with the thread
  public void schedule(long nanos, Runnable action) {
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
}
