package dev.sluice.governor.redis.internal.store;

import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Runs actions one after the other, on the threads that add them, and outside of locks, because an
 * action may call any code. Thread-safe.
 */
public final class SerialRunner {
  // Guarded by this.
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private boolean busy;

  /** Adds an action for the next {@link #run}, which throws its exception. */
  public synchronized void add(Runnable work) {
    waiting.add(work);
  }

  /** Runs the added actions, unless another thread is running them. */
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

  /** Leaves the remaining actions to the next {@link #run}. */
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
