package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.internal.bucket.BucketMath;
import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.properties.Property;
import java.math.BigInteger;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The long-run rate is the configured one, to the token, however the bucket is polled. */
final class RateTest {

  static Stream<Arguments> awkwardRates() {
    Duration second = Duration.ofSeconds(1);
    return Stream.of(
        // limit, time between polls, polls
        Arguments.of(new Limit.Balanced(15_000, 15_000, Duration.ofMillis(1)), 66, 2_000_000),
        Arguments.of(new Limit.Balanced(2, 15_000_000, second), 1, 1_000_000),
        Arguments.of(new Limit.Balanced(3, 3, Duration.ofSeconds(7)), 1_000_000_007L, 500_000),
        Arguments.of(new Limit.Balanced(2, 1, Duration.ofDays(49)), 86_399_999_999_999L, 90_000),
        Arguments.of(new Limit.Balanced(1_000, 1_000_000_000, second), 7, 1_000_000),
        Arguments.of(new Limit.Balanced(11, 999_983, second), 9_999, 1_000_000),
        Arguments.of(
            new Limit.Balanced(2_000_000_000L, 999_999_937, second), 999_999_999L, 20_000));
  }

  @ParameterizedTest
  @MethodSource("awkwardRates")
  void granted_isExactlyTheAccruedTokens(Limit.Balanced limit, long pollNanos, int polls) {
    TokenBucket bucket =
        TokenBucket.builder().limit(limit).initialTokens(0).clock(ManualClock.create()).build();
    long granted = 0;
    long now = 0;
    for (int i = 0; i < polls; i++) {
      now += pollNanos;
      long available = bucket.available(now);
      if (available > 0 && bucket.tryAcquire(available, now)) {
        granted += available;
      }
    }
    assertThat(accrued(limit, pollNanos) + 1)
        .as("polled so often that it is never full, or it would rightly burn time")
        .isLessThan(limit.capacity() + 1);
    assertThat(granted).isEqualTo(accrued(limit, now));
  }

  @ParameterizedTest
  @MethodSource("awkwardRates")
  void waitingForRetryAfter_reachesExactlyTheRate(Limit.Balanced limit, long pollNanos, int polls) {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = TokenBucket.builder().limit(limit).initialTokens(0).clock(clock).build();
    long now = 0;
    int grants = Math.min(polls, 100_000);
    for (int i = 0; i < grants; ) {
      if (bucket.decide(1) instanceof Decision.Denied denied) {
        clock.advanceNanos(denied.retryAfterNanos());
        now = clock.nanoTime();
      } else {
        i++;
      }
      if (now > Duration.ofDays(365 * 100).toNanos()) {
        grants = i;
      }
    }
    assertThat(accrued(limit, now)).isGreaterThanOrEqualTo(grants);
    assertThat(accrued(limit, now - 1)).isLessThanOrEqualTo(grants);
  }

  @Test
  void withoutExactUnits_itIsSlowerByAtMostAMillionth() {
    Property.check(
        2_000,
        generator -> {
          long capacity = generator.longBetween(1, Limit.MAX_CAPACITY);
          long tokens = generator.longBetween(1, Long.MAX_VALUE);
          long periodNanos = generator.longBetween(1, 1L << 62);
          UnitScale scale;
          try {
            scale =
                UnitScale.of(new Limit.Balanced(capacity, tokens, Duration.ofNanos(periodNanos)));
          } catch (IllegalArgumentException refused) {
            assertThat(refused).hasMessageContaining("out of range");
            return;
          }
          BigInteger minted = big(scale.unitsPerStep()).multiply(big(periodNanos));
          BigInteger configured = big(scale.unitsPerToken()).multiply(big(tokens));
          BigInteger slower = configured.subtract(minted);
          assertThat(slower).isNotNegative();
          assertThat(slower.multiply(big(1_000_000))).isLessThanOrEqualTo(minted);
          assertThat(big(scale.unitsPerToken()).multiply(big(capacity)))
              .isLessThanOrEqualTo(big(BucketMath.MAX_DEBT_UNITS));
        });
  }

  @Test
  void withoutExactUnits_everyWindowStillHolds() {
    Limit.Balanced limit = new Limit.Balanced(1_000_003, 1_000_003, Duration.ofDays(1));
    assertThat(ModelPropertyTest.isExact(limit)).isFalse();
    TokenBucket bucket =
        TokenBucket.builder().limit(limit).initialTokens(0).clock(ManualClock.create()).build();
    long now = 0;
    long granted = 0;
    for (int i = 0; i < 100_000; i++) {
      now += 123_456_789_123L;
      long available = bucket.available(now);
      assertThat(bucket.tryAcquire(available, now)).isTrue();
      granted += available;
    }
    long legal = accrued(limit, now);
    assertThat(granted).isLessThanOrEqualTo(legal).isGreaterThan(legal - legal / 1_000_000 - 1);
  }

  @Test
  void rangeOfRates_fromAHundredYearsToOneANanosecond() {
    Duration century = Duration.ofDays(36_525);
    assertThat(new Limit.Balanced(1, 1, century)).satisfies(RateTest::buildsExactly);
    assertThat(new Limit.Balanced(1L << 53, 1_000_000_000, Duration.ofSeconds(1)))
        .satisfies(RateTest::buildsExactly);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TokenBucket.of(new Limit.Balanced(1_000, 1, century)))
        .withMessageContaining("out of range")
        .withMessageContaining("capacity=1000");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> TokenBucket.of(new Limit.Balanced(1, Long.MAX_VALUE, Duration.ofNanos(1))))
        .withMessageContaining("out of range");
  }

  private static void buildsExactly(Limit limit) {
    assertThat(ModelPropertyTest.isExact((Limit.Balanced) limit)).isTrue();
    assertThat(TokenBucket.of(limit).available()).isEqualTo(limit.capacity());
  }

  private static long accrued(Limit.Balanced limit, long nanos) {
    return big(nanos)
        .multiply(big(limit.refillTokens()))
        .divide(big(limit.refillPeriod().toNanos()))
        .longValueExact();
  }

  private static BigInteger big(long value) {
    return BigInteger.valueOf(value);
  }
}
