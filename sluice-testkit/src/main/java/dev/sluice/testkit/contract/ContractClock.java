package dev.sluice.testkit.contract;

import java.time.Duration;

/**
 * The time that a bucket under contract lives in; it stands still until told to go on.
 *
 * @since 0.1
 */
public interface ContractClock {
  /** Lets time pass. */
  void advance(Duration time);

  /** The shortest time that can pass: what answers are exact to. */
  Duration tick();
}
