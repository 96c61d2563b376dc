package dev.sluice.properties;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.properties.BucketModel.Refill;
import java.math.BigInteger;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The reference model against figures that are computed by hand. */
final class BucketModelTest {
  private static final long ORIGIN = Long.MAX_VALUE - 3;

  /** Overflows, as a clock may. */
  private static long after(long nanos) {
    return ORIGIN + nanos;
  }

  @Test
  void balanced_refillsEvenly_fromAnyOrigin() {
    // 3 tokens in 10 ns: one after 4 ns, two after 7, three after 10.
    Refill refill = Refill.balanced(5, 3, Duration.ofNanos(10));
    BucketModel empty = BucketModel.of(refill, 0, ORIGIN);
    assertThat(empty.available(after(3))).isZero();
    assertThat(empty.available(after(4))).isEqualTo(1);
    assertThat(empty.available(after(10))).isEqualTo(3);
    assertThat(empty.available(after(1_000))).isEqualTo(5);
    assertThat(empty.waitNanos(2, after(1))).isEqualTo(6);
    assertThat(empty.waitNanos(0, ORIGIN)).isZero();
  }

  @Test
  void strict_refillsAtTheStartOfEachPeriod() {
    BucketModel full = BucketModel.of(Refill.strict(2, Duration.ofNanos(100)), 2, 0);
    BucketModel empty = full.take(2, 30).orElseThrow();
    assertThat(empty.take(1, 99)).isEmpty();
    assertThat(empty.waitNanos(1, 99)).isEqualTo(1);
    assertThat(empty.available(100)).isEqualTo(2);
    assertThat(empty.available(1_000)).isEqualTo(2);
  }

  @Test
  void withoutRefill_holdsReplenishedTokens_atMostItsCapacity() {
    BucketModel empty = BucketModel.of(Refill.none(4), 0, 0);
    assertThat(empty.waitNanos(1, 1_000)).isEqualTo(BigInteger.ONE.negate());
    assertThat(empty.give(3, 0).available(0)).isEqualTo(3);
    assertThat(empty.give(9, 0).available(0)).isEqualTo(4);
    assertThat(empty.reset(0).available(0)).isEqualTo(4);
  }

  @Test
  void staleReading_neverMints() {
    BucketModel full = BucketModel.of(Refill.balanced(10, 1, Duration.ofNanos(1)), 10, 0);
    BucketModel some = full.take(10, 0).orElseThrow().take(2, 6).orElseThrow();
    assertThat(some.available(6)).isEqualTo(4);
    assertThat(some.available(3)).isEqualTo(1);
    assertThat(some.take(2, 3)).isEmpty();
    assertThat(some.take(1, 3).orElseThrow().available(6)).isEqualTo(3);
  }

  @Test
  void reconfigure_keepsTheTokens_atMostTheNewCapacity() {
    Refill slow = Refill.balanced(10, 1, Duration.ofNanos(3));
    BucketModel bucket = BucketModel.of(slow, 5, 0);
    assertThat(bucket.reconfigure(slow, 7)).isSameAs(bucket);
    BucketModel third = bucket.reconfigure(Refill.balanced(10, 1, Duration.ofNanos(2)), 1);
    // 5 1/3 tokens are 10 of the new halves, rounded down.
    assertThat(third.level()).isEqualTo(10);
    assertThat(bucket.reconfigure(Refill.none(2), 0).available(0)).isEqualTo(2);
  }
}
