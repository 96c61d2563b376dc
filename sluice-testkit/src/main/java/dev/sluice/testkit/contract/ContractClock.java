package dev.sluice.testkit.contract;

import java.time.Duration;

/**
 * The clock of a bucket under contract; it moves only by {@link #advance}.
 *
 * @since 0.1
 */
public interface ContractClock {
  /** Advances the clock. */
  void advance(Duration time);

  /** Returns the shortest time that can pass, to which answers are exact. */
  Duration tick();
}
