package dev.sluice.governor.spi;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the callbacks of waiters: in order on one thread, as long as none blocks. A callback that
 * blocks delays the others until the next {@link #look}. Thread-safe.
 */
final class CallbackThreads {
  private static final Logger LOG = LoggerFactory.getLogger(CallbackThreads.class);

  /** The number of times an idle thread polls before it ends. */
  private static final int SPINS = 1_000;

  private final Executor threads;
  private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();

  /** The number of threads that will poll the queue once more. */
  private final AtomicInteger attending = new AtomicInteger();

  CallbackThreads(Executor threads) {
    this.threads = threads;
  }

  void add(Runnable callback) {
    waiting.add(callback);
    if (attending.get() == 0) {
      attend();
    }
  }

  /** Starts another thread if callbacks have been waiting. */
  void look() {
    if (!waiting.isEmpty()) {
      attend();
    }
  }

  /** Gives each callback that still waits a thread of its own. */
  void close() {
    for (Runnable next = waiting.poll(); next != null; next = waiting.poll()) {
      Runnable callback = next;
      threads.execute(() -> run(callback));
    }
  }

  private void attend() {
    attending.incrementAndGet();
    try {
      threads.execute(this::work);
    } catch (RejectedExecutionException closed) {
      // After the end of its threads, callbacks run on the thread that adds them.
      work();
    }
  }

  private void work() {
    do {
      int idle = 0;
      while (idle < SPINS) {
        Runnable next = waiting.poll();
        if (next == null) {
          idle++;
          Thread.onSpinWait();
        } else {
          idle = 0;
          run(next);
        }
      }
    } while (!leave());
  }

  private static void run(Runnable callback) {
    try {
      callback.run();
    } catch (RuntimeException failure) {
      LOG.warn("a callback has failed", failure);
    }
  }

  /** Returns false if a callback was added at the same moment that no other thread would run. */
  private boolean leave() {
    if (attending.decrementAndGet() > 0 || waiting.isEmpty()) {
      return true;
    }
    attending.incrementAndGet();
    return false;
  }
}
