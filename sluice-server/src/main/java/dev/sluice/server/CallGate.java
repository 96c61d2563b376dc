package dev.sluice.server;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * A call that has begun waits for a thread with its headers, its stream and a window of its bytes,
 * before anybody has asked for a key. Without a bound, a client that begins calls faster than
 * threads look at them fills the heap, and everybody else's calls wait behind its own. Connections
 * take turns instead: each begins TURN calls and goes to the end of the line.
 */

/**
 * Counts the gRPC calls that have begun and that no thread has looked at. While there are too many,
 * connections do not read; they continue in the order in which they stopped. Thread-safe.
 */
final class CallGate {
  /** How many calls a connection begins when it is its turn. */
  static final int TURN = 16;

  private static final Logger LOG = LoggerFactory.getLogger(CallGate.class);

  private final int max;

  // Guarded by this.
  private final Queue<Runnable> line = new ArrayDeque<>();
  private int unseen;
  private int turns;

  CallGate(int max) {
    this.max = max;
  }

  /** Returns whether calls may begin without standing in line. */
  synchronized boolean isOpen() {
    return unseen < max && line.isEmpty();
  }

  /** A call has begun. */
  synchronized void begun() {
    unseen++;
  }

  /** Runs {@code turn}, which calls {@link #turnOver}, when the others in line have had theirs. */
  void enter(Runnable turn) {
    synchronized (this) {
      line.add(turn);
    }
    next();
  }

  void turnOver() {
    synchronized (this) {
      turns--;
    }
    next();
  }

  /** A thread has looked at a call that had begun, or it ended before. */
  void seen() {
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
