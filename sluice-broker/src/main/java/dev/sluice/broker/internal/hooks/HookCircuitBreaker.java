package dev.sluice.broker.internal.hooks;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Bypasses the hooks of a queue for a while after they failed several times in a row.
 *
 * <p>Thread-safe and lock-free. Times are nanoseconds of a clock that may wrap.
 */
public final class HookCircuitBreaker {
  public static final int FAILURES = 3;
  public static final long BYPASS_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final Counting CLEAN = new Counting(0);

  private final AtomicReference<State> state = new AtomicReference<>(CLEAN);

  private sealed interface State {}

  private record Counting(int failures) implements State {}

  /** Once over, the same as {@link #CLEAN}. */
  private record Bypass(long untilNanos) implements State {
    boolean isOver(long nowNanos) {
      return nowNanos - untilNanos >= 0;
    }
  }

  /** Whether the hook is to be called. */
  public boolean allows(long nowNanos) {
    return !(state.get() instanceof Bypass bypass) || bypass.isOver(nowNanos);
  }

  /** A call succeeded; one that began before a bypass does not end it. */
  public void succeeded() {
    State old = state.get();
    if (old instanceof Counting counting && counting.failures > 0) {
      // If this fails another call has ended meanwhile, and either may have been the last.
      state.compareAndSet(old, CLEAN);
    }
  }

  /**
   * A call failed.
   *
   * @return whether the bypass begins now
   */
  public boolean failed(long nowNanos) {
    State old = state.getAndUpdate(seen -> afterFailure(seen, nowNanos));
    return old instanceof Counting counting && counting.failures == FAILURES - 1;
  }

  private static State afterFailure(State old, long nowNanos) {
    if (old instanceof Bypass bypass && !bypass.isOver(nowNanos)) {
      return old;
    }
    int failures = old instanceof Counting counting ? counting.failures + 1 : 1;
    return failures < FAILURES ? new Counting(failures) : new Bypass(nowNanos + BYPASS_NANOS);
  }
}
