package dev.sluice.server;

import java.util.concurrent.TimeUnit;

/**
 * Bounds the bytes that all calls together hold. A call that comes when nothing is taken gets what
 * it asks for, so that no single call is too large for ever.
 */
final class ByteBudget {
  private final long max;

  // Guarded by this.
  private long used;

  ByteBudget(long max) {
    this.max = max;
  }

  /** Returns a budget of one part in {@code share} of the largest heap. */
  static ByteBudget ofHeap(int share) {
    return new ByteBudget(Runtime.getRuntime().maxMemory() / share);
  }

  synchronized long used() {
    return used;
  }

  /** What one call has taken, given back once. */
  Part part() {
    return new Part();
  }

  private synchronized boolean take(long bytes) {
    if (used > 0 && used + bytes > max) {
      return false;
    }
    used += bytes;
    return true;
  }

  private synchronized boolean await(long bytes, long nanos) throws InterruptedException {
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos; !take(bytes); left = deadline - System.nanoTime()) {
      if (left <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return true;
  }

  private synchronized void give(long bytes) {
    used -= bytes;
    notifyAll();
  }

  /** What one call has of the budget. */
  final class Part implements AutoCloseable {
    // Guarded by this.
    private long taken;
    private boolean closed;

    /** Takes {@code bytes}; false if there is no room for them within {@code nanos}. */
    boolean await(long bytes, long nanos) {
      try {
        if (!ByteBudget.this.await(bytes, nanos)) {
          return false;
        }
      } catch (InterruptedException closing) {
        Thread.currentThread().interrupt();
        return false;
      }
      synchronized (this) {
        if (!closed) {
          taken += bytes;
          return true;
        }
      }
      ByteBudget.this.give(bytes);
      return true;
    }

    /** Gives some back. */
    synchronized void give(long bytes) {
      if (!closed) {
        taken -= bytes;
        ByteBudget.this.give(bytes);
      }
    }

    @Override
    public synchronized void close() {
      if (!closed) {
        closed = true;
        ByteBudget.this.give(taken);
      }
    }
  }

  /** What is told to a call for which there is no room. */
  static ApiException exhausted(String what) {
    return new ApiException(
        ErrorKind.UNAVAILABLE, "the server has no memory for %s now; call again".formatted(what));
  }
}
