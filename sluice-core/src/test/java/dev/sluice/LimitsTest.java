package dev.sluice;

import static dev.sluice.Costs.each;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision.Denied;
import dev.sluice.Decision.Depleted;
import dev.sluice.Decision.Impossible;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The promises of limits to one thread. */
final class LimitsTest {
  private static final long SECOND = 1_000_000_000;

  private final ManualClock clock = ManualClock.create();
  private final ReplaceableClock readings = new ReplaceableClock(clock);
  private final Limits limits = Limits.builder().clock(readings).build();

  @Test
  void emptyCollection_passes() {
    assertThat(limits.tryAcquire(List.of())).isTrue();
    assertThat(limits.tryAcquire(Map.of())).isTrue();
    assertThat(limits.decide(each(List.of(), 1)).isGranted()).isTrue();
    assertThat(limits.peek(Map.of()).isGranted()).isTrue();
  }

  @Test
  void duplicateKeys_countOnce() {
    limits.set("a", Limit.ofRate(0, 10));
    limits.set("b", Limit.ofRate(0, 10));
    assertThat(limits.tryAcquire(List.of("a", "b", "a", "a", "b"))).isTrue();
    assertThat(level("a")).isEqualTo(9);
    assertThat(level("b")).isEqualTo(9);
    assertThat(limits.decide(each(List.of("a"), 9)).isGranted()).isTrue();
    assertThat(level("a")).isZero();
  }

  @Test
  void manyKeys_areAllOrNothing() {
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      keys.add("key" + i * 7919 % 2_000);
      limits.set("key" + i, Limit.ofRate(0, 2));
    }
    assertThat(limits.tryAcquire(keys)).isTrue();
    limits.set("key77", Limit.ofRate(0, 0));
    assertThat(limits.tryAcquire(keys)).isFalse();
    keys.removeAll(List.of("key77"));
    assertThat(keys).allSatisfy(key -> assertThat(level(key)).isEqualTo(1));
  }

  @Test
  void costPerKey() {
    limits.set("calls", Limit.ofRate(1, 10));
    limits.set("bytes", Limit.ofRate(1_000, 5_000));
    limits.set("cpu", Limit.ofRate(1, 2));
    Map<String, Long> costs = Map.of("calls", 1L, "bytes", 3_000L, "cpu", 2L, "unknown", 99L);
    assertThat(limits.peek(costs).isGranted()).isTrue();
    assertThat(limits.tryAcquire(costs)).isTrue();
    assertThat(level("calls")).isEqualTo(9);
    assertThat(level("bytes")).isEqualTo(2_000);
    assertThat(level("cpu")).isZero();
    assertThat(limits.tryAcquire(costs)).isFalse();
    assertThat(limits.decide(costs))
        .isInstanceOfSatisfying(
            Denied.class,
            denied -> {
              assertThat(denied.limitName()).isEqualTo("cpu");
              assertThat(denied.retryAfter()).isEqualTo(Duration.ofSeconds(2));
            });
    assertThat(level("calls")).isEqualTo(9);
  }

  @Test
  void theBindingKey_isTheOneWithTheLongestWait() {
    limits.set("fast", Limit.ofRate(10, 1));
    limits.set("slow", Limit.ofRate(0.5, 1));
    limits.set("none", Limit.ofRate(0, 1));
    limits.set("tiny", Limit.ofRate(5, 0.5));
    assertThat(limits.tryAcquire(List.of("fast", "slow", "none"))).isTrue();
    assertThat(limits.decide(each(List.of("slow", "fast"), 1)))
        .isEqualTo(new Decision.Denied("slow", 2 * SECOND));
    assertThat(limits.decide(each(List.of("slow", "none", "fast"), 1)))
        .isInstanceOfSatisfying(Depleted.class, d -> assertThat(d.limitName()).isEqualTo("none"));
    assertThat(limits.decide(each(List.of("none", "tiny", "slow"), 1)))
        .isInstanceOfSatisfying(
            Impossible.class,
            impossible -> {
              assertThat(impossible.limitName()).isEqualTo("tiny");
              assertThat(impossible.capacity()).isZero();
            });
  }

  @Test
  void peek_changesNothing_notEvenForKeysOfATemplate() {
    limits.set("t:*", Limit.ofRate(1, 5));
    limits.set("a", Limit.ofRate(1, 5));
    assertThat(limits.peek(each(List.of("a", "t:1", "t:1"), 5)).isGranted()).isTrue();
    assertThat(limits.peek("t:1", 6)).isInstanceOf(Impossible.class);
    assertThat(limits.stats("t:1")).contains(standing("t:1", 5, 1, 5));
    assertThat(limits.size()).isEqualTo(1);
    assertThat(level("a")).isEqualTo(5);
  }

  @Test
  void rateZero_neverRefills() {
    limits.set("key", Limit.ofRate(0, 2.5));
    assertThat(limits.tryAcquire("key", 2)).isTrue();
    clock.advance(Duration.ofDays(100 * 365));
    assertThat(limits.tryAcquire("key")).isFalse();
    assertThat(limits.decide("key", 1)).isInstanceOf(Depleted.class);
    assertThat(limits.decide("key", 3)).isInstanceOf(Impossible.class);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.25, 0.999999})
  void burstBelowOne_neverPasses(double burst) {
    limits.set("key", Limit.ofRate(1_000, burst));
    clock.advance(Duration.ofDays(1));
    assertThat(limits.tryAcquire("key")).isFalse();
    assertThat(limits.decide("key", 1)).isEqualTo(new Decision.Impossible("key", 0));
  }

  @Test
  void halfATokenASecond_isOneEveryTwoSeconds() {
    limits.set("key", Limit.ofRate(0.5, 1));
    for (int i = 0; i < 100; i++) {
      assertThat(limits.tryAcquire("key")).isTrue();
      assertThat(limits.decide("key", 1)).isEqualTo(new Decision.Denied("key", 2 * SECOND));
      clock.advanceNanos(2 * SECOND - 1);
      assertThat(limits.tryAcquire("key")).isFalse();
      clock.advanceNanos(1);
    }
  }

  @Test
  void burstOfTwoAndAHalf_isFullHalfATokenEarlier() {
    limits.set("key", Limit.ofRate(1, 2.5));
    assertThat(limits.tryAcquire("key", 2)).isTrue();
    assertThat(limits.decide("key", 1)).isEqualTo(new Decision.Denied("key", SECOND / 2));
  }

  @ParameterizedTest
  @CsvSource({"1e9, 1e9", "1e9, 1", "999999937, 1000", "1e12, 1e6", "1e15, 9e15", "1e-9, 1"})
  void hugeAndTinyRates_grantTheirBurstAndNoMore(double rate, double burst) {
    limits.set("key", Limit.ofRate(rate, burst));
    assertThat(limits.tryAcquire("key", (long) burst)).isTrue();
    assertThat(limits.tryAcquire("key")).isFalse();
    assertThat(limits.decide("key", 1)).isInstanceOf(Denied.class);
    assertThat(limits.tryAcquire("key", Long.MAX_VALUE)).isFalse();
  }

  @Test
  void update_keepsTokens_clampsThem_andNeverGains() {
    limits.set("key", Limit.ofRate(1, 10));
    limits.tryAcquire("key", 7);
    limits.set("key", Limit.ofRate(100, 50));
    assertThat(level("key")).as("kept").isEqualTo(3);
    clock.advance(Duration.ofMillis(100));
    assertThat(level("key")).as("the new rate counts from the change on").isEqualTo(13);
    limits.set("key", Limit.ofRate(100, 4));
    assertThat(level("key")).as("clamped").isEqualTo(4);
    limits.set("key", Limit.ofRate(0, 50));
    assertThat(level("key")).isEqualTo(4);
    limits.set("key", Limit.ofRate(3, 50));
    assertThat(level("key")).isEqualTo(4);
  }

  @Test
  void update_toARateThatOtherKeysHaveHadForLong_countsFromNow() {
    limits.set("old", Limit.ofRate(10, 100));
    clock.advance(Duration.ofHours(1));
    limits.set("key", Limit.ofRate(1, 100));
    limits.tryAcquire("key", 98);
    limits.set("key", Limit.ofRate(10, 100));
    assertThat(level("key")).isEqualTo(2);
    clock.advance(Duration.ofSeconds(1));
    assertThat(level("key")).isEqualTo(12);
    limits.tryAcquire("key", 12);
    limits.set("key", Limit.ofRate(1, 50));
    assertThat(level("key")).isZero();
    clock.advance(Duration.ofSeconds(1));
    assertThat(level("key")).isEqualTo(1);
  }

  @Test
  void update_doesNotBackdateAFasterRateOverGrantsAlreadyMade() {
    limits.set("key", Limit.ofRate(1, 10));
    assertThat(tryAcquireAt(5 * SECOND, "key", 10)).as("by a clock ahead of ours").isTrue();
    limits.set("key", Limit.ofRate(1_000, 10));
    assertThat(tryAcquireAt(5 * SECOND, "key", 1)).isFalse();
  }

  @Test
  void injectedClock_decidesRefillUpdatesAndEviction() {
    long start = 1_000_000 * SECOND;
    ManualClock time = ManualClock.startingAt(start);
    Limits simulated = Limits.builder().clock(time).build();
    simulated.set("a", Limit.ofRate(1, 10));
    simulated.set("t:*", Limit.ofRate(1, 10));
    List<String> keys = List.of("a", "t:1");
    assertThat(simulated.tryAcquire(each(keys, 10))).isTrue();
    time.advanceNanos(SECOND);
    simulated.set("a", Limit.ofRate(2, 10));
    time.advanceNanos(SECOND);
    assertThat(simulated.stats("a")).contains(standing("a", 3, 2, 10));
    assertThat(simulated.decide(each(keys, 3))).isEqualTo(new Decision.Denied("t:1", SECOND));
    time.advanceNanos(8 * SECOND);
    assertThat(simulated.evictIdle()).isEqualTo(1);
  }

  @Test
  void updateToEqualValues_changesNothing() {
    limits.set("key", Limit.ofRate(0.3, 10));
    limits.tryAcquire("key", 5);
    clock.advanceNanos(123_456_789);
    double before = level("key");
    for (int i = 0; i < 1_000; i++) {
      limits.set("key", Limit.ofRate(0.3, 10));
    }
    assertThat(level("key")).isEqualTo(before);
  }

  @Test
  void template_givesEachKeyItsOwnBucket() {
    limits.set("tenant:*", Limit.ofRate(1, 2));
    assertThat(limits.tryAcquire("tenant:a", 2)).isTrue();
    assertThat(limits.tryAcquire("tenant:a")).isFalse();
    assertThat(limits.tryAcquire("tenant:b", 2)).isTrue();
    assertThat(limits.tryAcquire("other:a", 9)).isTrue();
    assertThat(limits.size()).isEqualTo(2);
    assertThat(limits.stats())
        .extracting(LimitStats::name)
        .containsExactlyInAnyOrder("tenant:a", "tenant:b");
  }

  @Test
  void templates_theLongestPrefixWins_andASetRateBeforeAll() {
    limits.set("*", Limit.ofRate(1, 1));
    limits.set("tenant:*", Limit.ofRate(1, 2));
    limits.set("tenant:vip:*", Limit.ofRate(1, 3));
    limits.set("tenant:vip:me", Limit.ofRate(1, 4));
    assertThat(burst("x")).isEqualTo(1);
    assertThat(burst("tenant:x")).isEqualTo(2);
    assertThat(burst("tenant:vip:x")).isEqualTo(3);
    assertThat(burst("tenant:vip:me")).isEqualTo(4);
  }

  @Test
  void aLongerTemplate_takesOverTheBucketsOfAShorterOne_withTheirTokens() {
    limits.set("t:*", Limit.ofRate(1, 10));
    limits.tryAcquire(each(List.of("t:vip:1", "t:2"), 8));
    limits.set("t:vip:*", Limit.ofRate(5, 100));
    assertThat(limits.stats("t:vip:1")).contains(standing("t:vip:1", 2, 5, 100));
    assertThat(limits.stats("t:2")).contains(standing("t:2", 2, 1, 10));
    assertThat(limits.remove("t:vip:*")).isTrue();
    assertThat(limits.stats("t:vip:1")).contains(standing("t:vip:1", 2, 1, 10));
  }

  @Test
  void aChangedTemplate_appliesAtOnce_andARemovedOneLetsKeysPass() {
    limits.set("t:*", Limit.ofRate(0, 10));
    assertThat(limits.tryAcquire("t:1", 9)).isTrue();
    limits.set("t:*", Limit.ofRate(0, 5));
    assertThat(limits.tryAcquire("t:1", 2)).isFalse();
    assertThat(limits.tryAcquire(List.of("t:1", "t:2"))).isTrue();
    assertThat(limits.remove("t:*")).isTrue();
    assertThat(limits.remove("t:*")).isFalse();
    assertThat(limits.tryAcquire(each(List.of("t:1", "t:2"), 100))).isTrue();
    assertThat(limits.size()).isZero();
  }

  @Test
  void setAndRemoveOnAKeyOfATemplate_keepTokens() {
    limits.set("t:*", Limit.ofRate(0, 10));
    limits.tryAcquire("t:1", 7);
    limits.set("t:1", Limit.ofRate(0, 20));
    assertThat(limits.stats("t:1")).contains(standing("t:1", 3, 0, 20));
    assertThat(limits.remove("t:1")).isTrue();
    assertThat(limits.stats("t:1")).contains(standing("t:1", 3, 0, 10));
    assertThat(limits.remove("t:1")).as("it is the template's").isFalse();
  }

  @Test
  void evictIdle_forgetsFullBucketsOfTemplates_andNoOthers() {
    limits.set("t:*", Limit.ofRate(1, 2));
    limits.set("z:*", Limit.ofRate(0, 2));
    limits.set("a", Limit.ofRate(1, 2));
    limits.tryAcquire(List.of("t:1", "t:2", "z:1", "a"));
    limits.tryAcquire("t:2");
    clock.advanceNanos(SECOND - 1);
    assertThat(limits.evictIdle()).isZero();
    clock.advanceNanos(1);
    assertThat(limits.evictIdle()).isEqualTo(1);
    clock.advanceNanos(SECOND);
    assertThat(limits.evictIdle()).isEqualTo(1);
    assertThat(limits.stats()).extracting(LimitStats::name).containsExactlyInAnyOrder("z:1", "a");
    assertThat(limits.tryAcquire("t:1", 2)).isTrue();
    assertThat(limits.tryAcquire("t:1")).isFalse();
  }

  @Test
  void newKeys_evictIdleKeys() {
    limits.set("t:*", Limit.ofRate(1_000, 2));
    for (int i = 0; i < 100_000; i++) {
      assertThat(limits.tryAcquire("t:" + i)).isTrue();
      clock.advanceNanos(10_000_000);
    }
    // A hundred keys were in use within the last second, and each is full again at once.
    assertThat(limits.size()).isLessThan(1_000);
  }

  @Test
  void keysInUse_areNotEvicted_thoughFullAgainAtOnce() {
    limits.set("t:*", Limit.ofRate(1e9, 1e9));
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 1_000; i++) {
        limits.tryAcquire("t:" + i);
        limits.tryAcquire("t:new" + round + ":" + i);
        clock.advanceNanos(200_000);
      }
      assertThat(limits.stats()).extracting(LimitStats::name).contains("t:0", "t:999");
    }
    assertThat(limits.size()).as("of 21,000").isBetween(5_000, 12_000);
  }

  @Test
  void aReadingFromTheFuture_costsNoOtherKeyItsTokens() {
    limits.set("slow:*", Limit.ofRate(0.001, 10));
    limits.set("fast:*", Limit.ofRate(1, 10));
    assertThat(limits.tryAcquire("slow:1", 10)).isTrue();
    for (int i = 0; i < 1_000; i++) {
      tryAcquireAt(1_000_000 * SECOND, "fast:" + i, 1);
    }
    assertThat(limits.tryAcquire("fast:new", 10)).isTrue();
    assertThat(limits.tryAcquire("slow:1")).isFalse();
  }

  @Test
  void anEvictedKey_withAReadingFromBeforeItsEviction_getsNoSecondBurst() {
    limits.set("t:*", Limit.ofRate(1, 10));
    assertThat(tryAcquireAt(0, "t:1", 10)).isTrue();
    assertThat(readings.at(10 * SECOND, limits::evictIdle)).isEqualTo(1);
    assertThat(tryAcquireAt(0, "t:1", 1)).isFalse();
    assertThat(tryAcquireAt(4 * SECOND, "t:1", 4)).isTrue();
    assertThat(tryAcquireAt(4 * SECOND, "t:1", 1)).isFalse();
  }

  @Test
  void aClockThatThrows_releasesTheLock() {
    long[] now = {0};
    int[] readingsLeft = {Integer.MAX_VALUE};
    Limits fragile =
        Limits.builder()
            .clock(
                () -> {
                  if (readingsLeft[0]-- <= 0) {
                    throw new IllegalStateException("no time");
                  }
                  return now[0];
                })
            .build();
    fragile.set("a", Limit.ofRate(999_999_937, 1_000));
    now[0] = 10 * SECOND; // beyond the epoch: the second reading is made under the lock
    readingsLeft[0] = 1;
    assertThatThrownBy(() -> fragile.tryAcquire("a", 1)).hasMessage("no time");
    readingsLeft[0] = 1;
    assertThatThrownBy(() -> fragile.tryAcquire(List.of("a"))).hasMessage("no time");
    readingsLeft[0] = Integer.MAX_VALUE;
    assertThat(fragile.tryAcquire("a", 1)).isTrue();
  }

  @Test
  void misuse_namesRuleAndValue_andChangesNothing() {
    limits.set("a", Limit.ofRate(1, 5));
    limits.set("t:*", Limit.ofRate(1, 5));
    assertRefused(() -> limits.set("a", Limit.ofRate(Double.NaN, 1)), "perSecond", "NaN");
    assertRefused(() -> limits.set("a", Limit.ofRate(-1, 1)), "perSecond", "-1.0");
    assertRefused(() -> limits.set("a", Limit.ofRate(Double.POSITIVE_INFINITY, 1)), "Infinity");
    assertRefused(() -> limits.set("a", Limit.ofRate(1, Double.NaN)), "burst", "NaN");
    assertRefused(() -> limits.set("a", Limit.ofRate(1, -0.5)), "burst", "-0.5");
    assertRefused(
        () -> limits.set("a", Limit.ofRate(1, Double.POSITIVE_INFINITY)), "burst", "Infinity");
    assertRefused(() -> limits.set("", Limit.ofRate(1, 1)), "name must not be empty");
    assertRefused(() -> limits.set("a", Limit.ofRate(1e-300, 1)), "out of range");
    assertRefused(() -> limits.set("a", Limit.manual(5)), "must be Balanced, Rate or DenyAll");
    assertRefused(() -> limits.set("t:*", Limit.strict(5, Duration.ofSeconds(1))), "Strict");
    assertRefused(() -> limits.set("t*:*", Limit.ofRate(1, 1)), "one asterisk");
    assertRefused(() -> limits.set("t:*", Limit.ofRate(Double.NaN, 1)), "NaN");
    assertRefused(() -> limits.tryAcquire("a", 0), "cost must be positive, but was 0");
    assertRefused(() -> limits.decide("a", -1), "cost must be positive, but was -1");
    assertRefused(() -> limits.peek("", 1), "name must not be empty");
    assertRefused(() -> limits.tryAcquire(List.of("a", "t:1", "")), "name must not be empty");
    assertRefused(() -> limits.tryAcquire(Map.of("a", 0L)), "cost must be positive, but was 0");
    assertRefused(
        () -> limits.decide(Map.of("a", 1L, "t:1", 0L)), "cost must be positive, but was 0");
    assertThatThrownBy(() -> limits.tryAcquire(Arrays.asList("t:1", "a", null)))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("name");
    Map<String, Long> costs = new HashMap<>(Map.of("a", 1L));
    costs.put("t:1", null);
    assertThatThrownBy(() -> limits.tryAcquire(costs))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("cost");
    assertThat(limits.stats()).containsExactly(standing("a", 5, 1, 5));
  }

  private static void assertRefused(ThrowingCallable call, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(parts);
  }

  private boolean tryAcquireAt(long nanos, String key, long cost) {
    return readings.at(nanos, () -> limits.tryAcquire(key, cost));
  }

  private double level(String key) {
    return limits.stats(key).orElseThrow().level();
  }

  private double burst(String key) {
    return ((Limit.Rate) limits.stats(key).orElseThrow().limit()).burst();
  }

  private static LimitStats standing(String name, double level, double perSecond, double burst) {
    return new LimitStats(
        name, Limit.ofRate(perSecond, burst), level, 0, 0, Optional.empty(), OptionalLong.empty());
  }
}
