package dev.sluice.governor.spi;

import dev.sluice.governor.local.SystemStoreTimer;

/**
 * The clock and the timer of a {@link BudgetStore}. In tests and simulations its time may advance
 * only on request. Thread-safe.
 *
 * @since 0.1
 */
public interface StoreTimer extends AutoCloseable {
  /**
   * Returns the present time.
   *
   * @return nanoseconds from an arbitrary origin
   */
  long now();

  /**
   * Runs an action after a delay, possibly a little later.
   *
   * @param nanos the delay; 0 for as soon as possible, but not within this call
   * @param action must not block
   */
  void after(long nanos, Runnable action);

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
   * Returns a timer over the system's monotonic clock with a daemon thread; callbacks run on other
   * threads, as many as block at a time.
   *
   * @return a new timer, to be closed
   */
  static StoreTimer system() {
    return new SystemStoreTimer();
  }
}
