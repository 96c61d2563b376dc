package dev.sluice;

import dev.sluice.internal.time.SimulatedClock;
import java.time.Duration;

/**
 * A clock that moves only when advanced: time without waiting, for tests and simulations.
 *
 * <p>Callers that wait on a bucket with this clock are served by {@link #advance}, on the thread
 * that calls it and in the order they fall due, each while the clock shows the instant it was due
 * at. Thread-safe.
 *
 * @since 0.1
 */
public sealed interface ManualClock extends NanoClock permits SimulatedClock {

  /**
   * Returns a clock that shows zero.
   *
   * @return a new clock
   */
  static ManualClock create() {
    return startingAt(0);
  }

  /**
   * Returns a clock that shows {@code startNanos}.
   *
   * @param startNanos the first reading, any value
   * @return a new clock
   */
  static ManualClock startingAt(long startNanos) {
    return new SimulatedClock(startNanos);
  }

  /**
   * Advances the clock and serves, one after the other, all callers that fall due on the way.
   *
   * @param duration how far, not negative
   * @throws IllegalArgumentException if {@code duration} is negative
   */
  void advance(Duration duration);

  /**
   * Advances the clock and serves, one after the other, all callers that fall due on the way.
   *
   * @param nanos how far, not negative
   * @throws IllegalArgumentException if {@code nanos} is negative
   */
  void advanceNanos(long nanos);
}
