package dev.sluice.governor;

import org.jspecify.annotations.Nullable;

/** A class of a model's line. Not thread-safe. */
final class Rank {
  final ModelLimits.ClassLimit limit;
  final ClassLine line = new ClassLine();
  final @Nullable Meter guarantee;

  /** Tokens that are kept for the classes above. */
  long floor;

  Rank(ModelLimits.ClassLimit limit, @Nullable Meter guarantee) {
    this.limit = limit;
    this.guarantee = guarantee;
  }

  /** Returns whether the guarantee has accrued so many tokens. */
  boolean isGuaranteed(long tokens) {
    return guarantee != null && guarantee.has(tokens, 0);
  }
}
