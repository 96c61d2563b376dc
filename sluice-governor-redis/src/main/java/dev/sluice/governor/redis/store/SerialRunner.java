package dev.sluice.governor.redis.store;

import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Does one thing after the other, on the threads of those who add them, and outside of every lock:
 * what is done may call anybody. For any number of threads.
 */
public final class SerialRunner {
  // Guarded by this.
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private boolean busy;

  /** To be done by the next {@link #run}, which ends with what it throws. */
  public synchronized void add(Runnable work) {
    waiting.add(work);
  }

  /** Does what was added, unless another thread is about it. */
  public void run() {
    for (Runnable next = first(); next != null; next = next()) {
      try {
        next.run();
      } catch (RuntimeException | Error failure) {
        end();
        throw failure;
      }
    }
  }

  /** Remaining work is done by the next {@link #run}. */
  private synchronized void end() {
    busy = false;
  }

  private synchronized @Nullable Runnable first() {
    return busy ? null : next();
  }

  private synchronized @Nullable Runnable next() {
    Runnable next = waiting.poll();
    busy = next != null;
    return next;
  }
}
