package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.properties.BucketModel;

/** Describes limits to {@link BucketModel}, which knows nothing of them. */
final class Refills {
  private Refills() {}

  static BucketModel.Refill of(Limit limit) {
    if (limit instanceof Limit.Balanced balanced) {
      return BucketModel.Refill.balanced(
          limit.capacity(), balanced.refillTokens(), balanced.refillPeriod());
    }
    if (limit instanceof Limit.Strict strict) {
      return BucketModel.Refill.strict(limit.capacity(), strict.period());
    }
    return BucketModel.Refill.none(limit.capacity());
  }
}
