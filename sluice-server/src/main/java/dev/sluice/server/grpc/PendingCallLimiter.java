package dev.sluice.server.grpc;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * A call that has begun holds its headers, its stream and a window of bytes while it waits for a
 * thread, which is before its key is checked. Without a bound, a client that begins calls faster
 * than threads take them fills the heap, and the calls of other clients wait behind its own.
 * Connections take turns instead: each begins TURN calls and goes to the end of the line.
 */

/**
 * Counts the gRPC calls that have begun and that no worker has started to handle. While there are
 * too many, connections are not read; they continue in the order in which they stopped.
 * Thread-safe.
 */
public final class PendingCallLimiter {
  /** The calls that a connection may begin in its turn. */
  public static final int TURN = 16;

  private static final Logger LOG = LoggerFactory.getLogger(PendingCallLimiter.class);

  private final int max;

  // Guarded by this.
  private final Queue<Runnable> line = new ArrayDeque<>();
  private int unseen;
  private int turns;

  public PendingCallLimiter(int max) {
    this.max = max;
  }

  /** Returns whether calls may begin without standing in line. */
  public synchronized boolean isOpen() {
    return unseen < max && line.isEmpty();
  }

  /** Counts a call that has begun. */
  public synchronized void begun() {
    unseen++;
  }

  /** Runs {@code turn} after those in line before it; {@code turn} calls {@link #turnOver}. */
  public void enter(Runnable turn) {
    synchronized (this) {
      line.add(turn);
    }
    next();
  }

  public void turnOver() {
    synchronized (this) {
      turns--;
    }
    next();
  }

  /** Uncounts a call: a worker has started to handle it, or it has ended before. */
  public void seen() {
    synchronized (this) {
      unseen--;
    }
    next();
  }

  private void next() {
    for (Runnable turn = take(); turn != null; turn = take()) {
      try {
        turn.run();
      } catch (RejectedExecutionException closing) {
        LOG.debug("a connection's thread has ended", closing);
      }
    }
  }

  private synchronized @Nullable Runnable take() {
    if (line.isEmpty() || unseen + (turns + 1) * TURN > max) {
      return null;
    }
    turns++;
    return line.remove();
  }
}
