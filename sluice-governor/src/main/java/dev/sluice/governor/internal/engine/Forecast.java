package dev.sluice.governor.internal.engine;

import dev.sluice.governor.BudgetDimension;
import java.time.Duration;
import java.util.Optional;

/**
 * Forecasts a grant, assuming that no request arrives, leaves or is settled.
 *
 * @param position from 1, over all classes
 * @param alone the reason to wait with an empty waiting list
 * @param turn the reason to wait behind the waiters before it
 */
public record Forecast(int position, WaitReason alone, WaitReason turn) {
  /** Nothing is short, and nothing waits. */
  static final Forecast NOW = new Forecast(0, WaitReason.NOTHING, WaitReason.NOTHING);

  Optional<Duration> retryAfter() {
    return alone.duration();
  }

  Optional<Duration> eta() {
    return turn.duration();
  }

  /**
   * Returns what the eta is by, or why it is empty; WAITING_LIST if it only waits for those before
   * it.
   */
  BudgetDimension binding() {
    boolean free = alone.by() == BudgetDimension.NONE && !turn.isUnknown();
    return free && position > 0 ? BudgetDimension.WAITING_LIST : turn.by();
  }
}
