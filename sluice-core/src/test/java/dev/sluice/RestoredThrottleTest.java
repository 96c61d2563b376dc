package dev.sluice;

import static dev.sluice.Threads.beside;
import static dev.sluice.Threads.sumOver;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules of which nobody remembers what was consumed: as if empty when they were restored. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RestoredThrottleTest {
  private final ManualClock clock = ManualClock.create();
  private final Limits throttle = Limits.builder().clock(clock).build();

  private double level(String key) {
    return throttle.stats(key).orElseThrow().level();
  }

  private void seconds(long count) {
    clock.advance(Duration.ofSeconds(count));
  }

  @Test
  void aRestoredRate_startsEmpty_andFillsAtItsRate() {
    throttle.restore("key", Limit.ofRate(2, 10));
    assertThat(throttle.tryAcquire("key")).isFalse();
    seconds(3);
    assertThat(level("key")).isEqualTo(6);
    assertThat(throttle.tryAcquire("key", 7)).isFalse();
    assertThat(throttle.tryAcquire("key", 6)).isTrue();
    seconds(100);
    assertThat(level("key")).isEqualTo(10);
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "5, 5", "10, 10", "1000, 10"})
  void aKeyOfARestoredTemplate_hasWhatAccruedSince(long after, double expected) {
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(after);
    assertThat(level("tenant:a")).isEqualTo(expected);
    assertThat(throttle.tryAcquire("tenant:a", (long) expected + 1)).isFalse();
    assertThat(expected == 0 || throttle.tryAcquire("tenant:a", (long) expected)).isTrue();
    assertThat(throttle.tryAcquire("tenant:a")).isFalse();
    assertThat(level("tenant:b")).isEqualTo(expected);
  }

  @Test
  void withoutRefill_nothingIsGrantedEver() {
    throttle.restore("key", Limit.ofRate(0, 10));
    throttle.restore("tenant:*", Limit.ofRate(0, 10));
    clock.advance(Duration.ofDays(1_000));
    assertThat(throttle.tryAcquire("key")).isFalse();
    assertThat(throttle.tryAcquire("tenant:a")).isFalse();
    assertThat(throttle.evictIdle()).isZero();
  }

  @Test
  void aKeyThatHasABucket_keepsItsTokens() {
    throttle.set("key", Limit.ofRate(1, 10));
    throttle.set("tenant:*", Limit.ofRate(1, 10));
    assertThat(throttle.tryAcquire(List.of("key", "tenant:a"), 4)).isTrue();
    throttle.restore("key", Limit.ofRate(1, 20));
    throttle.restore("tenant:*", Limit.ofRate(1, 20));
    assertThat(level("key")).isEqualTo(6);
    assertThat(level("tenant:a")).isEqualTo(6);
    assertThat(level("tenant:b")).isZero();
  }

  @Test
  void anUpdate_isNoWayToAFreshBurst() {
    throttle.restore("key", Limit.ofRate(1, 10));
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(3);
    throttle.set("key", Limit.ofRate(10, 100));
    throttle.set("tenant:*", Limit.ofRate(10, 100));
    assertThat(level("key")).isEqualTo(3);
    assertThat(level("tenant:a")).isEqualTo(3);
    seconds(2);
    assertThat(level("key")).isEqualTo(23);
    assertThat(level("tenant:b")).isEqualTo(23);
    throttle.set("tenant:*", Limit.ofRate(10, 5));
    assertThat(level("tenant:c")).isEqualTo(5);
  }

  @Test
  void aNarrowerRule_isNoWayToAFreshBurst() {
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(3);
    throttle.set("tenant:gold:*", Limit.ofRate(1, 100));
    throttle.set("tenant:a", Limit.ofRate(1, 100));
    assertThat(level("tenant:gold:x")).isEqualTo(3);
    assertThat(level("tenant:a")).isEqualTo(3);
    assertThat(level("tenant:b")).isEqualTo(3);
    throttle.set("other:*", Limit.ofRate(1, 100));
    assertThat(level("other:x")).isEqualTo(100);
  }

  @Test
  void onceFull_aRestoredTemplateIsLikeAnyOther() {
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(10);
    throttle.set("tenant:*", Limit.ofRate(1, 100));
    throttle.set("tenant:gold", Limit.ofRate(1, 50));
    assertThat(level("tenant:a")).isEqualTo(100);
    assertThat(level("tenant:gold")).isEqualTo(50);
  }

  @Test
  void evictIdle_leavesKeysThatAreNotFull() {
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(9);
    assertThat(throttle.tryAcquire("tenant:a", 10)).isFalse();
    assertThat(throttle.evictIdle()).isZero();
    seconds(1);
    assertThat(throttle.evictIdle()).isEqualTo(1);
    assertThat(throttle.tryAcquire("tenant:a", 10)).isTrue();
  }

  @Test
  void aKeyEvictedAfterAnUpdate_comesBackFull() {
    throttle.restore("tenant:*", Limit.ofRate(10, 10));
    clock.advance(Duration.ofMillis(500));
    assertThat(throttle.tryAcquire("tenant:a", 6)).isFalse();
    throttle.set("tenant:*", Limit.ofRate(0.001, 5));
    assertThat(level("tenant:a")).isEqualTo(5);
    assertThat(throttle.evictIdle()).isEqualTo(1);
    assertThat(level("tenant:a")).isEqualTo(5);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void eviction_showsInMemoryOnly(long seed) {
    Limits kept = Limits.builder().clock(clock).build();
    SplittableRandom random = new SplittableRandom(seed);
    for (Limits each : List.of(throttle, kept)) {
      each.restore("tenant:*", Limit.ofRate(2, 5));
    }
    for (int step = 0; step < 2_000; step++) {
      clock.advanceNanos(random.nextLong(400_000_000));
      String key = "tenant:" + random.nextInt(5);
      long cost = random.nextLong(1, 4);
      assertThat(throttle.tryAcquire(key, cost))
          .as("step %d, %s", step, key)
          .isEqualTo(kept.tryAcquire(key, cost));
      throttle.evictIdle();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1e-9, 1",
    "0.5, 2.5",
    "3, 1e9",
    "1e9, 1e9",
    "1e15, 1e15",
    "1e18, 1e12",
    "1e-6, 1000",
  })
  void extremes_startEmptyAndFillUp(double rate, double burst) {
    for (long start : new long[] {0, -1, Long.MAX_VALUE - 5, Long.MIN_VALUE, Long.MAX_VALUE / 2}) {
      ManualClock time = ManualClock.startingAt(start);
      Limits extreme = Limits.builder().clock(time).build();
      extreme.restore("key", Limit.ofRate(rate, burst));
      extreme.restore("t:*", Limit.ofRate(rate, burst));
      assertThat(extreme.stats("key").orElseThrow().level()).isZero();
      assertThat(extreme.tryAcquire(List.of("key", "t:a"))).isFalse();
      long fillNanos = (long) Math.ceil(burst / rate * 1e9);
      time.advanceNanos(fillNanos / 2);
      assertThat(extreme.stats("t:b").orElseThrow().level())
          .isBetween(0.0, burst / 2 + 2 * rate / 1e9);
      time.advanceNanos(fillNanos / 2 + fillNanos / 1_000 + 2);
      assertThat(extreme.tryAcquire(List.of("key", "t:a", "t:b", "t:c"), (long) burst)).isTrue();
    }
  }

  @Test
  void aReadingFromThePast_getsNothing() {
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(5);
    long now = clock.nanoTime();
    assertThat(throttle.tryAcquire("tenant:a", 1, now - Duration.ofDays(400).toNanos())).isFalse();
    assertThat(throttle.tryAcquire("tenant:b", 1, Long.MIN_VALUE)).isFalse();
    assertThat(level("tenant:a")).isEqualTo(5);
    assertThat(level("tenant:b")).isEqualTo(5);
  }

  @Test
  void misuse_namesTheRuleAndTheValue() {
    assertThatThrownBy(() -> throttle.restore("", Limit.ofRate(1, 1))).hasMessageContaining("name");
    assertThatThrownBy(() -> throttle.restore("a", Limit.ofRate(-1, 1))).hasMessageContaining("-1");
    assertThatThrownBy(() -> throttle.restore("a*b*", Limit.ofRate(1, 1)))
        .hasMessageContaining("a*b*");
    assertThatThrownBy(() -> throttle.restore("a*", Limit.ofRate(1, Double.NaN)))
        .hasMessageContaining("NaN");
    assertThat(throttle.size()).isZero();
  }

  @Test
  void threadsThatRaceForAKey_getExactlyWhatAccrued() {
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(5);
    for (int round = 0; round < 2_000; round++) {
      String key = "tenant:" + round;
      long granted =
          sumOver(
              2,
              () -> {
                long count = 0;
                while (throttle.tryAcquire(key)) {
                  count++;
                }
                return count;
              });
      assertThat(granted).isEqualTo(5);
    }
  }

  @Test
  void threadsThatRaceWithUpdatesAndEviction_getNoMoreThanAccrued() {
    throttle.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(5);
    AtomicBoolean over = new AtomicBoolean();
    CompletableFuture<Void> updates =
        beside(
            () -> {
              for (int i = 0; !over.get(); i++) {
                throttle.set("tenant:*", Limit.ofRate(1 + i % 3, 10 + i % 7));
                throttle.set("tenant:1*", Limit.ofRate(1 + i % 2, 20 + i % 5));
                throttle.evictIdle();
              }
            });
    for (int round = 0; round < 1_000; round++) {
      String key = "tenant:" + round;
      long granted =
          sumOver(2, () -> (throttle.tryAcquire(key) ? 1 : 0) + (throttle.tryAcquire(key) ? 1 : 0));
      while (throttle.tryAcquire(key)) {
        granted++;
      }
      assertThat(granted).isLessThanOrEqualTo(5);
    }
    over.set(true);
    updates.join();
  }
}
