package dev.sluice.governor.spi;

import dev.sluice.governor.local.SystemStoreTimer;

/**
 * What time it is for a {@link BudgetStore}, and something that happens later. For tests and
 * simulations it may be a time that goes on only when told to. For any number of threads.
 *
 * @since 0.1
 */
public interface StoreTimer extends AutoCloseable {
  /**
   * What time it is.
   *
   * @return nanoseconds from any moment on
   */
  long now();

  /**
   * Runs it after so long, perhaps a little later.
   *
   * @param nanos from now on; 0 for as soon as it can be, but not within this call
   * @param action what to do then
   */
  void after(long nanos, Runnable action);

  /**
   * Runs it soon, whatever else blocks, and never within another that was given here.
   *
   * @param action what somebody who waits does then
   */
  void execute(Runnable action);

  /** Nothing happens later any more. */
  @Override
  void close();

  /**
   * By the system's monotonic clock, on a daemon thread of its own; callbacks on others, as many as
   * block at a time.
   *
   * @return to be closed
   */
  static StoreTimer system() {
    return new SystemStoreTimer();
  }
}
