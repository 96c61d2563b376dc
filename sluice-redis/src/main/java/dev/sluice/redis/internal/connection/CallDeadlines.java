package dev.sluice.redis.internal.connection;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Fails calls that take too long.
 *
 * <p>All calls have the same time-out, so they end in the order in which they began, and a queue is
 * enough: a timer for each would cost more than the call.
 */
final class CallDeadlines implements AutoCloseable {
  private static final long TICK_NANOS = 2_000_000;

  private final Queue<ScriptCall> calls = new ConcurrentLinkedQueue<>();
  private final Consumer<ScriptCall> late;
  private final Thread thread;
  private volatile boolean idle;
  private volatile boolean closed;

  /** Tells {@code late} of every call whose deadline has passed. */
  CallDeadlines(String threads, Consumer<ScriptCall> late) {
    this.late = late;
    thread = new Thread(this::run, threads + "-deadlines");
    thread.setDaemon(true);
    thread.start();
  }

  void watch(ScriptCall call) {
    calls.add(call);
    if (idle) {
      LockSupport.unpark(thread);
    }
    if (closed) {
      endAll();
    }
  }

  private void run() {
    while (!closed) {
      idle = true;
      if (calls.isEmpty()) {
        LockSupport.park(this);
      }
      idle = false;
      LockSupport.parkNanos(this, TICK_NANOS);
      endLate(System.nanoTime());
    }
    endAll();
  }

  private void endLate(long nowNanos) {
    for (@Nullable ScriptCall call = calls.peek(); call != null; call = calls.peek()) {
      if (!call.isDone()) {
        if (call.deadlineNanos - nowNanos > 0) {
          return;
        }
        late.accept(call);
      }
      calls.poll();
    }
  }

  private void endAll() {
    for (@Nullable ScriptCall call = calls.poll(); call != null; call = calls.poll()) {
      late.accept(call);
    }
  }

  /** Ends all calls, and those that come later at once. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }
}
