package dev.sluice.redis;

import dev.sluice.ManualClock;
import dev.sluice.testkit.contract.ContractClock;
import java.time.Duration;

/** The time of a manual clock. */
record HandClock(ManualClock clock) implements ContractClock {
  @Override
  public void advance(Duration time) {
    clock.advance(time);
  }

  @Override
  public Duration tick() {
    return Duration.ofNanos(1);
  }
}
