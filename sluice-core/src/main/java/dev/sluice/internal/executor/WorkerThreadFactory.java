package dev.sluice.internal.executor;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Makes an executor's own threads: alike, whichever thread happens to ask for one.
 *
 * <p>That may be the timer's, which is a daemon without a class loader.
 */
public final class WorkerThreadFactory implements ThreadFactory {
  private final AtomicInteger count = new AtomicInteger();
  private final ClassLoader loader = Thread.currentThread().getContextClassLoader();

  @Override
  public Thread newThread(Runnable task) {
    Thread thread = new Thread(null, task, "sluice-executor-" + count.incrementAndGet(), 0, false);
    thread.setContextClassLoader(loader);
    thread.setDaemon(false);
    return thread;
  }
}
