package dev.sluice;

import static dev.sluice.Costs.each;
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

/** Restored limits whose consumption is unknown: buckets are empty when they are restored. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RestoredLimitsTest {
  private final ManualClock clock = ManualClock.create();
  private final ReplaceableClock readings = new ReplaceableClock(clock);
  private final Limits limits = Limits.builder().clock(readings).build();

  private double level(String key) {
    return limits.stats(key).orElseThrow().level();
  }

  private void seconds(long count) {
    clock.advance(Duration.ofSeconds(count));
  }

  @Test
  void aRestoredRate_startsEmpty_andFillsAtItsRate() {
    limits.restore("key", Limit.ofRate(2, 10));
    assertThat(limits.tryAcquire("key")).isFalse();
    seconds(3);
    assertThat(level("key")).isEqualTo(6);
    assertThat(limits.tryAcquire("key", 7)).isFalse();
    assertThat(limits.tryAcquire("key", 6)).isTrue();
    seconds(100);
    assertThat(level("key")).isEqualTo(10);
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "5, 5", "10, 10", "1000, 10"})
  void aKeyOfARestoredTemplate_hasTheTokensAccruedSince(long after, double expected) {
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(after);
    assertThat(level("tenant:a")).isEqualTo(expected);
    assertThat(limits.tryAcquire("tenant:a", (long) expected + 1)).isFalse();
    assertThat(expected == 0 || limits.tryAcquire("tenant:a", (long) expected)).isTrue();
    assertThat(limits.tryAcquire("tenant:a")).isFalse();
    assertThat(level("tenant:b")).isEqualTo(expected);
  }

  @Test
  void withoutRefill_nothingIsGrantedEver() {
    limits.restore("key", Limit.ofRate(0, 10));
    limits.restore("tenant:*", Limit.ofRate(0, 10));
    clock.advance(Duration.ofDays(1_000));
    assertThat(limits.tryAcquire("key")).isFalse();
    assertThat(limits.tryAcquire("tenant:a")).isFalse();
    assertThat(limits.evictIdle()).isZero();
  }

  @Test
  void aKeyThatHasABucket_keepsItsTokens() {
    limits.set("key", Limit.ofRate(1, 10));
    limits.set("tenant:*", Limit.ofRate(1, 10));
    assertThat(limits.tryAcquire(each(List.of("key", "tenant:a"), 4))).isTrue();
    limits.restore("key", Limit.ofRate(1, 20));
    limits.restore("tenant:*", Limit.ofRate(1, 20));
    assertThat(level("key")).isEqualTo(6);
    assertThat(level("tenant:a")).isEqualTo(6);
    assertThat(level("tenant:b")).isZero();
  }

  @Test
  void anUpdate_givesNoFreshBurst() {
    limits.restore("key", Limit.ofRate(1, 10));
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(3);
    limits.set("key", Limit.ofRate(10, 100));
    limits.set("tenant:*", Limit.ofRate(10, 100));
    assertThat(level("key")).isEqualTo(3);
    assertThat(level("tenant:a")).isEqualTo(3);
    seconds(2);
    assertThat(level("key")).isEqualTo(23);
    assertThat(level("tenant:b")).isEqualTo(23);
    limits.set("tenant:*", Limit.ofRate(10, 5));
    assertThat(level("tenant:c")).isEqualTo(5);
  }

  @Test
  void aLongerTemplateOrAnOwnLimit_givesNoFreshBurst() {
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(3);
    limits.set("tenant:gold:*", Limit.ofRate(1, 100));
    limits.set("tenant:a", Limit.ofRate(1, 100));
    assertThat(level("tenant:gold:x")).isEqualTo(3);
    assertThat(level("tenant:a")).isEqualTo(3);
    assertThat(level("tenant:b")).isEqualTo(3);
    limits.set("other:*", Limit.ofRate(1, 100));
    assertThat(level("other:x")).isEqualTo(100);
  }

  @Test
  void aRestoredTemplate_onceFull_behavesAsNew() {
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(10);
    limits.set("tenant:*", Limit.ofRate(1, 100));
    limits.set("tenant:gold", Limit.ofRate(1, 50));
    assertThat(level("tenant:a")).isEqualTo(100);
    assertThat(level("tenant:gold")).isEqualTo(50);
  }

  @Test
  void evictIdle_leavesKeysThatAreNotFull() {
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(9);
    assertThat(limits.tryAcquire("tenant:a", 10)).isFalse();
    assertThat(limits.evictIdle()).isZero();
    seconds(1);
    assertThat(limits.evictIdle()).isEqualTo(1);
    assertThat(limits.tryAcquire("tenant:a", 10)).isTrue();
  }

  @Test
  void aKeyEvictedAfterAnUpdate_startsFull() {
    limits.restore("tenant:*", Limit.ofRate(10, 10));
    clock.advance(Duration.ofMillis(500));
    assertThat(limits.tryAcquire("tenant:a", 6)).isFalse();
    limits.set("tenant:*", Limit.ofRate(0.001, 5));
    assertThat(level("tenant:a")).isEqualTo(5);
    assertThat(limits.evictIdle()).isEqualTo(1);
    assertThat(level("tenant:a")).isEqualTo(5);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void eviction_changesNoDecision(long seed) {
    Limits kept = Limits.builder().clock(clock).build();
    SplittableRandom random = new SplittableRandom(seed);
    for (Limits each : List.of(limits, kept)) {
      each.restore("tenant:*", Limit.ofRate(2, 5));
    }
    for (int step = 0; step < 2_000; step++) {
      clock.advanceNanos(random.nextLong(400_000_000));
      String key = "tenant:" + random.nextInt(5);
      long cost = random.nextLong(1, 4);
      assertThat(limits.tryAcquire(key, cost))
          .as("step %d, %s", step, key)
          .isEqualTo(kept.tryAcquire(key, cost));
      limits.evictIdle();
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
      assertThat(extreme.tryAcquire(each(List.of("key", "t:a", "t:b", "t:c"), (long) burst)))
          .isTrue();
    }
  }

  @Test
  void aReadingFromThePast_getsNothing() {
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(5);
    long now = clock.nanoTime();
    long longAgo = now - Duration.ofDays(400).toNanos();
    assertThat(readings.at(longAgo, () -> limits.tryAcquire("tenant:a"))).isFalse();
    assertThat(readings.at(Long.MIN_VALUE, () -> limits.tryAcquire("tenant:b"))).isFalse();
    assertThat(level("tenant:a")).isEqualTo(5);
    assertThat(level("tenant:b")).isEqualTo(5);
  }

  @Test
  void misuse_namesTheRuleAndTheValue() {
    assertThatThrownBy(() -> limits.restore("", Limit.ofRate(1, 1))).hasMessageContaining("name");
    assertThatThrownBy(() -> limits.restore("a", Limit.ofRate(-1, 1))).hasMessageContaining("-1");
    assertThatThrownBy(() -> limits.restore("a*b*", Limit.ofRate(1, 1)))
        .hasMessageContaining("a*b*");
    assertThatThrownBy(() -> limits.restore("a*", Limit.ofRate(1, Double.NaN)))
        .hasMessageContaining("NaN");
    assertThat(limits.size()).isZero();
  }

  @Test
  void threadsThatRaceForAKey_getExactlyTheAccruedTokens() {
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(5);
    for (int round = 0; round < 2_000; round++) {
      String key = "tenant:" + round;
      long granted =
          sumOver(
              2,
              () -> {
                long count = 0;
                while (limits.tryAcquire(key)) {
                  count++;
                }
                return count;
              });
      assertThat(granted).isEqualTo(5);
    }
  }

  @Test
  void threadsThatRaceWithUpdatesAndEviction_getNoMoreThanAccrued() {
    limits.restore("tenant:*", Limit.ofRate(1, 10));
    seconds(5);
    AtomicBoolean over = new AtomicBoolean();
    CompletableFuture<Void> updates =
        beside(
            () -> {
              for (int i = 0; !over.get(); i++) {
                limits.set("tenant:*", Limit.ofRate(1 + i % 3, 10 + i % 7));
                limits.set("tenant:1*", Limit.ofRate(1 + i % 2, 20 + i % 5));
                limits.evictIdle();
              }
            });
    for (int round = 0; round < 1_000; round++) {
      String key = "tenant:" + round;
      long granted =
          sumOver(2, () -> (limits.tryAcquire(key) ? 1 : 0) + (limits.tryAcquire(key) ? 1 : 0));
      while (limits.tryAcquire(key)) {
        granted++;
      }
      assertThat(granted).isLessThanOrEqualTo(5);
    }
    over.set(true);
    updates.join();
  }
}
