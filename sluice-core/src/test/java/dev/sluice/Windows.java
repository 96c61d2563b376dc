package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.ModelPropertyTest.Grant;
import java.math.BigInteger;
import java.util.Comparator;
import java.util.List;

/** Checks a log of grants against the promise, in every window there is. */
final class Windows {
  private Windows() {}

  /**
   * Every window of the log holds at most capacity + rate · length.
   *
   * <p>With S the tokens granted before a window starts, the excess over the rate is (S − rate ·
   * time); the promise holds in every window exactly if that never rises by more than a capacity
   * above its lowest point, which one pass can see.
   */
  static void assertBounded(List<Grant> grants, Limit.Balanced limit) {
    BigInteger rate = BigInteger.valueOf(limit.refillTokens());
    BigInteger period = BigInteger.valueOf(limit.refillPeriod().toNanos());
    BigInteger capacity = BigInteger.valueOf(limit.capacity()).multiply(period);
    BigInteger granted = BigInteger.ZERO;
    BigInteger lowest = null;
    List<Grant> byTime = grants.stream().sorted(Comparator.comparingLong(Grant::nanos)).toList();
    for (Grant grant : byTime) {
      BigInteger accrued = BigInteger.valueOf(grant.nanos()).multiply(rate);
      BigInteger before = granted.multiply(period).subtract(accrued);
      lowest = lowest == null ? before : lowest.min(before);
      granted = granted.add(BigInteger.valueOf(grant.tokens()));
      BigInteger after = granted.multiply(period).subtract(accrued);
      assertThat(after.subtract(lowest))
          .as("tokens beyond the rate in a window that ends at %s ns", grant.nanos())
          .isLessThanOrEqualTo(capacity);
    }
  }
}
