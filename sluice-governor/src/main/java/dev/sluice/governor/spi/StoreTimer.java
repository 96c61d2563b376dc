package dev.sluice.governor.spi;

import static dev.sluice.internal.util.Preconditions.requireBetween;

import dev.sluice.ManualClock;
import dev.sluice.NanoClock;

/**
 * The clock and the timer of a {@link BudgetStore}. In tests and simulations its time may advance
 * only on request. Thread-safe.
 *
 * @since 0.1
 */
public interface StoreTimer extends NanoClock, AutoCloseable {
  /** The latest time at which a timer may begin. */
  long FARTHEST_NANOS = 1L << 62;

  /**
   * Runs an action after a delay, possibly a little later.
   *
   * @param nanos the delay; 0 for as soon as possible, but not within this call
   * @param action must not block
   */
  void schedule(long nanos, Runnable action);

  /**
   * Runs a callback soon, even if others block, and never within another callback.
   *
   * @param action the callback of a waiter, which may block
   */
  void execute(Runnable action);

  /** Runs no delayed actions any more. */
  @Override
  void close();

  /**
   * Returns a timer over the system's monotonic clock; see {@link #of}.
   *
   * @return a new timer, to be closed
   */
  static StoreTimer system() {
    return of(NanoClock.system());
  }

  /**
   * Returns a timer over a clock. On a {@link ManualClock}, actions run on the thread that advances
   * it. On other clocks, a daemon thread runs actions, and callbacks run on other threads, as many
   * as block at a time; delays are of the system's time.
   *
   * @param clock if it is a timer itself, it is returned
   * @return a timer, to be closed
   * @throws IllegalArgumentException if the clock shows more than 146 years before or after zero,
   *     where the times of waiters and reservations would overflow
   */
  static StoreTimer of(NanoClock clock) {
    if (clock instanceof StoreTimer timer) {
      return timer;
    }
    requireBetween(
        "the time of the clock in ns", clock.nanoTime(), -FARTHEST_NANOS, FARTHEST_NANOS);
    return clock instanceof ManualClock manual
        ? new ManualClockTimer(manual)
        : new SystemStoreTimer(clock);
  }
}
