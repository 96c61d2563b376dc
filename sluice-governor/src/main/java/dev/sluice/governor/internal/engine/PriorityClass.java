package dev.sluice.governor.internal.engine;

import dev.sluice.governor.spi.ModelLimits;
import org.jspecify.annotations.Nullable;

/** A priority class of a model's waiting list. Not thread-safe. */
final class PriorityClass {
  final ModelLimits.ClassLimit limit;
  final ClassWaitingList waitingList = new ClassWaitingList();
  final @Nullable DebtBucket guarantee;

  /** Tokens that are kept for the classes above. */
  long floor;

  PriorityClass(ModelLimits.ClassLimit limit, @Nullable DebtBucket guarantee) {
    this.limit = limit;
    this.guarantee = guarantee;
  }

  /** Returns whether the guarantee has accrued so many tokens. */
  boolean isGuaranteed(long tokens) {
    return guarantee != null && guarantee.has(tokens, 0);
  }
}
