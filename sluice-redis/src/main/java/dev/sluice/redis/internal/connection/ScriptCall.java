package dev.sluice.redis.internal.connection;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A question to Redis that is answered, or fails, before its deadline.
 *
 * @since 0.1
 */
public final class ScriptCall extends CompletableFuture<List<Object>> {
  private static final int UNSENT = 0;
  private static final int SENT = 1;
  private static final int GIVEN_UP = 2;
  private static final AtomicIntegerFieldUpdater<ScriptCall> STATE =
      AtomicIntegerFieldUpdater.newUpdater(ScriptCall.class, "state");

  public final long deadlineNanos;

  private volatile int state;

  private ScriptCall(long deadlineNanos, int state) {
    this.deadlineNanos = deadlineNanos;
    this.state = state;
  }

  /** Creates a call that ends by {@code deadlineNanos} and may have been sent at any time. */
  ScriptCall(long deadlineNanos) {
    this(deadlineNanos, SENT);
  }

  /** Creates a call that {@link #trySend} sends, unless it was given up before. */
  static ScriptCall unsent(long deadlineNanos) {
    return new ScriptCall(deadlineNanos, UNSENT);
  }

  /** Returns whether the call may be sent: it was not given up. */
  boolean trySend() {
    return STATE.compareAndSet(this, UNSENT, SENT) || state == SENT;
  }

  /** Redis has answered that it has done nothing: the call is as if it had not been sent. */
  void notDone() {
    STATE.compareAndSet(this, SENT, UNSENT);
  }

  /** Returns whether the call was never sent; it never is from then on. */
  boolean giveUpUnsent() {
    return STATE.compareAndSet(this, UNSENT, GIVEN_UP);
  }

  /** The number at a place of an answer. */
  public static long number(List<Object> answer, int index) {
    return (Long) answer.get(index);
  }
}
