package dev.sluice.governor.internal.engine;

import dev.sluice.governor.BudgetDimension;
import java.time.Duration;
import java.util.Optional;

/**
 * The reason for which a request cannot be granted now.
 *
 * @param by the dimension that is short
 * @param nanos the time until it suffices, if no tokens are taken; {@link #UNKNOWN} if time alone
 *     does not help
 */
public record WaitReason(BudgetDimension by, long nanos) {
  static final long UNKNOWN = Long.MAX_VALUE;

  /** Nothing is short. */
  static final WaitReason NOTHING = new WaitReason(BudgetDimension.NONE, 0);

  /** Nothing is short, but others go first. */
  static final WaitReason BEHIND_OTHERS = new WaitReason(BudgetDimension.WAITING_LIST, UNKNOWN);

  private static final long MILLI = 1_000_000L;

  boolean isUnknown() {
    return nanos == UNKNOWN;
  }

  /** Returns whole milliseconds, rounded up; empty if unknown. */
  Optional<Duration> duration() {
    return isUnknown() ? Optional.empty() : Optional.of(Duration.ofMillis(millis(nanos)));
  }

  /** Rounds up. */
  static long millis(long nanos) {
    return Math.floorDiv(nanos + MILLI - 1, MILLI);
  }

  /**
   * Returns the later of this and another known bound, in whole milliseconds, so that stores which
   * count in other units name the same; of two in the same one, this.
   */
  WaitReason orLater(BudgetDimension other, long otherNanos) {
    return isUnknown() || millis(otherNanos) <= millis(nanos)
        ? this
        : new WaitReason(other, otherNanos);
  }
}
