package dev.sluice;

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
final class ThrottleTest {
  private static final long SECOND = 1_000_000_000;

  private final ManualClock clock = ManualClock.create();
  private final Limits throttle = Limits.builder().clock(clock).build();

  @Test
  void emptyCollection_passes() {
    assertThat(throttle.tryAcquire(List.of())).isTrue();
    assertThat(throttle.tryAcquire(Map.of())).isTrue();
    assertThat(throttle.decide(List.of()).isGranted()).isTrue();
    assertThat(throttle.peek(Map.of()).isGranted()).isTrue();
  }

  @Test
  void duplicateKeys_countOnce() {
    throttle.set("a", Limit.ofRate(0, 10));
    throttle.set("b", Limit.ofRate(0, 10));
    assertThat(throttle.tryAcquire(List.of("a", "b", "a", "a", "b"))).isTrue();
    assertThat(level("a")).isEqualTo(9);
    assertThat(level("b")).isEqualTo(9);
    assertThat(throttle.decide(List.of("a", "a"), 9).isGranted()).isTrue();
    assertThat(level("a")).isZero();
  }

  @Test
  void manyKeys_areAllOrNothing() {
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      keys.add("key" + i * 7919 % 2_000);
      throttle.set("key" + i, Limit.ofRate(0, 2));
    }
    assertThat(throttle.tryAcquire(keys)).isTrue();
    throttle.set("key77", Limit.ofRate(0, 0));
    assertThat(throttle.tryAcquire(keys)).isFalse();
    keys.removeAll(List.of("key77"));
    assertThat(keys).allSatisfy(key -> assertThat(level(key)).isEqualTo(1));
  }

  @Test
  void costPerKey() {
    throttle.set("calls", Limit.ofRate(1, 10));
    throttle.set("bytes", Limit.ofRate(1_000, 5_000));
    throttle.set("cpu", Limit.ofRate(1, 2));
    Map<String, Long> costs = Map.of("calls", 1L, "bytes", 3_000L, "cpu", 2L, "unknown", 99L);
    assertThat(throttle.peek(costs).isGranted()).isTrue();
    assertThat(throttle.tryAcquire(costs)).isTrue();
    assertThat(level("calls")).isEqualTo(9);
    assertThat(level("bytes")).isEqualTo(2_000);
    assertThat(level("cpu")).isZero();
    assertThat(throttle.tryAcquire(costs)).isFalse();
    assertThat(throttle.decide(costs))
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
    throttle.set("fast", Limit.ofRate(10, 1));
    throttle.set("slow", Limit.ofRate(0.5, 1));
    throttle.set("none", Limit.ofRate(0, 1));
    throttle.set("tiny", Limit.ofRate(5, 0.5));
    assertThat(throttle.tryAcquire(List.of("fast", "slow", "none"))).isTrue();
    assertThat(throttle.decide(List.of("slow", "fast")))
        .isEqualTo(new Decision.Denied("slow", 2 * SECOND));
    assertThat(throttle.decide(List.of("slow", "none", "fast")))
        .isInstanceOfSatisfying(Depleted.class, d -> assertThat(d.limitName()).isEqualTo("none"));
    assertThat(throttle.decide(List.of("none", "tiny", "slow")))
        .isInstanceOfSatisfying(
            Impossible.class,
            impossible -> {
              assertThat(impossible.limitName()).isEqualTo("tiny");
              assertThat(impossible.capacity()).isZero();
            });
  }

  @Test
  void peek_changesNothing_notEvenForKeysOfATemplate() {
    throttle.set("t:*", Limit.ofRate(1, 5));
    throttle.set("a", Limit.ofRate(1, 5));
    assertThat(throttle.peek(List.of("a", "t:1", "t:1"), 5).isGranted()).isTrue();
    assertThat(throttle.peek("t:1", 6)).isInstanceOf(Impossible.class);
    assertThat(throttle.stats("t:1")).contains(standing("t:1", 5, 1, 5));
    assertThat(throttle.size()).isEqualTo(1);
    assertThat(level("a")).isEqualTo(5);
  }

  @Test
  void rateZero_neverRefills() {
    throttle.set("key", Limit.ofRate(0, 2.5));
    assertThat(throttle.tryAcquire("key", 2)).isTrue();
    clock.advance(Duration.ofDays(100 * 365));
    assertThat(throttle.tryAcquire("key")).isFalse();
    assertThat(throttle.decide("key")).isInstanceOf(Depleted.class);
    assertThat(throttle.decide("key", 3)).isInstanceOf(Impossible.class);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.25, 0.999999})
  void burstBelowOne_neverPasses(double burst) {
    throttle.set("key", Limit.ofRate(1_000, burst));
    clock.advance(Duration.ofDays(1));
    assertThat(throttle.tryAcquire("key")).isFalse();
    assertThat(throttle.decide("key")).isEqualTo(new Decision.Impossible("key", 0));
  }

  @Test
  void halfATokenASecond_isOneEveryTwoSeconds() {
    throttle.set("key", Limit.ofRate(0.5, 1));
    for (int i = 0; i < 100; i++) {
      assertThat(throttle.tryAcquire("key")).isTrue();
      assertThat(throttle.decide("key")).isEqualTo(new Decision.Denied("key", 2 * SECOND));
      clock.advanceNanos(2 * SECOND - 1);
      assertThat(throttle.tryAcquire("key")).isFalse();
      clock.advanceNanos(1);
    }
  }

  @Test
  void burstOfTwoAndAHalf_isFullHalfATokenEarlier() {
    throttle.set("key", Limit.ofRate(1, 2.5));
    assertThat(throttle.tryAcquire("key", 2)).isTrue();
    assertThat(throttle.decide("key")).isEqualTo(new Decision.Denied("key", SECOND / 2));
  }

  @ParameterizedTest
  @CsvSource({"1e9, 1e9", "1e9, 1", "999999937, 1000", "1e12, 1e6", "1e15, 9e15", "1e-9, 1"})
  void hugeAndTinyRates_grantTheirBurstAndNoMore(double rate, double burst) {
    throttle.set("key", Limit.ofRate(rate, burst));
    assertThat(throttle.tryAcquire("key", (long) burst)).isTrue();
    assertThat(throttle.tryAcquire("key")).isFalse();
    assertThat(throttle.decide("key")).isInstanceOf(Denied.class);
    assertThat(throttle.tryAcquire("key", Long.MAX_VALUE)).isFalse();
  }

  @Test
  void update_keepsTokens_clampsThem_andNeverGains() {
    throttle.set("key", Limit.ofRate(1, 10));
    throttle.tryAcquire("key", 7);
    throttle.set("key", Limit.ofRate(100, 50));
    assertThat(level("key")).as("kept").isEqualTo(3);
    clock.advance(Duration.ofMillis(100));
    assertThat(level("key")).as("the new rate counts from the change on").isEqualTo(13);
    throttle.set("key", Limit.ofRate(100, 4));
    assertThat(level("key")).as("clamped").isEqualTo(4);
    throttle.set("key", Limit.ofRate(0, 50));
    assertThat(level("key")).isEqualTo(4);
    throttle.set("key", Limit.ofRate(3, 50));
    assertThat(level("key")).isEqualTo(4);
  }

  @Test
  void update_toARateThatOtherKeysHaveHadForLong_countsFromNow() {
    throttle.set("old", Limit.ofRate(10, 100));
    clock.advance(Duration.ofHours(1));
    throttle.set("key", Limit.ofRate(1, 100));
    throttle.tryAcquire("key", 98);
    throttle.set("key", Limit.ofRate(10, 100));
    assertThat(level("key")).isEqualTo(2);
    clock.advance(Duration.ofSeconds(1));
    assertThat(level("key")).isEqualTo(12);
    throttle.tryAcquire("key", 12);
    throttle.set("key", Limit.ofRate(1, 50));
    assertThat(level("key")).isZero();
    clock.advance(Duration.ofSeconds(1));
    assertThat(level("key")).isEqualTo(1);
  }

  @Test
  void update_doesNotBackdateAFasterRateOverGrantsAlreadyMade() {
    throttle.set("key", Limit.ofRate(1, 10));
    assertThat(throttle.tryAcquire("key", 10, 5 * SECOND)).as("by a clock ahead of ours").isTrue();
    throttle.set("key", Limit.ofRate(1_000, 10));
    assertThat(throttle.tryAcquire("key", 1, 5 * SECOND)).isFalse();
  }

  @Test
  void everythingAtGivenInstants_needsNoClock() {
    long start = 1_000_000 * SECOND;
    ManualClock time = ManualClock.startingAt(start);
    Limits simulated = Limits.builder().clock(time).build();
    simulated.set("a", Limit.ofRate(1, 10));
    simulated.set("t:*", Limit.ofRate(1, 10));
    List<String> keys = List.of("a", "t:1");
    assertThat(simulated.tryAcquire(keys, 10, start)).isTrue();
    time.advanceNanos(SECOND);
    simulated.set("a", Limit.ofRate(2, 10));
    assertThat(simulated.stats("a", start + 2 * SECOND)).contains(standing("a", 3, 2, 10));
    assertThat(simulated.decide(keys, 3, start + 2 * SECOND))
        .isEqualTo(new Decision.Denied("t:1", SECOND));
    assertThat(simulated.evictIdle(start + 10 * SECOND)).isEqualTo(1);
  }

  @Test
  void updateToEqualValues_changesNothing() {
    throttle.set("key", Limit.ofRate(0.3, 10));
    throttle.tryAcquire("key", 5);
    clock.advanceNanos(123_456_789);
    double before = level("key");
    for (int i = 0; i < 1_000; i++) {
      throttle.set("key", Limit.ofRate(0.3, 10));
    }
    assertThat(level("key")).isEqualTo(before);
  }

  @Test
  void template_givesEachKeyItsOwnBucket() {
    throttle.set("tenant:*", Limit.ofRate(1, 2));
    assertThat(throttle.tryAcquire("tenant:a", 2)).isTrue();
    assertThat(throttle.tryAcquire("tenant:a")).isFalse();
    assertThat(throttle.tryAcquire("tenant:b", 2)).isTrue();
    assertThat(throttle.tryAcquire("other:a", 9)).isTrue();
    assertThat(throttle.size()).isEqualTo(2);
    assertThat(throttle.stats())
        .extracting(LimitStats::name)
        .containsExactlyInAnyOrder("tenant:a", "tenant:b");
  }

  @Test
  void templates_theLongestPrefixWins_andASetRateBeforeAll() {
    throttle.set("*", Limit.ofRate(1, 1));
    throttle.set("tenant:*", Limit.ofRate(1, 2));
    throttle.set("tenant:vip:*", Limit.ofRate(1, 3));
    throttle.set("tenant:vip:me", Limit.ofRate(1, 4));
    assertThat(burst("x")).isEqualTo(1);
    assertThat(burst("tenant:x")).isEqualTo(2);
    assertThat(burst("tenant:vip:x")).isEqualTo(3);
    assertThat(burst("tenant:vip:me")).isEqualTo(4);
  }

  @Test
  void aLongerTemplate_takesOverTheBucketsOfAShorterOne_withTheirTokens() {
    throttle.set("t:*", Limit.ofRate(1, 10));
    throttle.tryAcquire(List.of("t:vip:1", "t:2"), 8);
    throttle.set("t:vip:*", Limit.ofRate(5, 100));
    assertThat(throttle.stats("t:vip:1")).contains(standing("t:vip:1", 2, 5, 100));
    assertThat(throttle.stats("t:2")).contains(standing("t:2", 2, 1, 10));
    assertThat(throttle.remove("t:vip:*")).isTrue();
    assertThat(throttle.stats("t:vip:1")).contains(standing("t:vip:1", 2, 1, 10));
  }

  @Test
  void aChangedTemplate_appliesAtOnce_andARemovedOneLetsKeysPass() {
    throttle.set("t:*", Limit.ofRate(0, 10));
    assertThat(throttle.tryAcquire("t:1", 9)).isTrue();
    throttle.set("t:*", Limit.ofRate(0, 5));
    assertThat(throttle.tryAcquire("t:1", 2)).isFalse();
    assertThat(throttle.tryAcquire(List.of("t:1", "t:2"))).isTrue();
    assertThat(throttle.remove("t:*")).isTrue();
    assertThat(throttle.remove("t:*")).isFalse();
    assertThat(throttle.tryAcquire(List.of("t:1", "t:2"), 100)).isTrue();
    assertThat(throttle.size()).isZero();
  }

  @Test
  void setRateOnAKeyOfATemplate_keepsTokens_andSoDoesRemovingIt() {
    throttle.set("t:*", Limit.ofRate(0, 10));
    throttle.tryAcquire("t:1", 7);
    throttle.set("t:1", Limit.ofRate(0, 20));
    assertThat(throttle.stats("t:1")).contains(standing("t:1", 3, 0, 20));
    assertThat(throttle.remove("t:1")).isTrue();
    assertThat(throttle.stats("t:1")).contains(standing("t:1", 3, 0, 10));
    assertThat(throttle.remove("t:1")).as("it is the template's").isFalse();
  }

  @Test
  void evictIdle_forgetsFullBucketsOfTemplates_andNoOthers() {
    throttle.set("t:*", Limit.ofRate(1, 2));
    throttle.set("z:*", Limit.ofRate(0, 2));
    throttle.set("a", Limit.ofRate(1, 2));
    throttle.tryAcquire(List.of("t:1", "t:2", "z:1", "a"));
    throttle.tryAcquire("t:2");
    clock.advanceNanos(SECOND - 1);
    assertThat(throttle.evictIdle()).isZero();
    clock.advanceNanos(1);
    assertThat(throttle.evictIdle()).isEqualTo(1);
    clock.advanceNanos(SECOND);
    assertThat(throttle.evictIdle()).isEqualTo(1);
    assertThat(throttle.stats()).extracting(LimitStats::name).containsExactlyInAnyOrder("z:1", "a");
    assertThat(throttle.tryAcquire("t:1", 2)).isTrue();
    assertThat(throttle.tryAcquire("t:1")).isFalse();
  }

  @Test
  void newKeys_makeRoomByThemselves() {
    throttle.set("t:*", Limit.ofRate(1_000, 2));
    for (int i = 0; i < 100_000; i++) {
      assertThat(throttle.tryAcquire("t:" + i)).isTrue();
      clock.advanceNanos(10_000_000);
    }
    // A hundred keys were in use within the last second, and each is full again at once.
    assertThat(throttle.size()).isLessThan(1_000);
  }

  @Test
  void keysInUse_stayThoughTheyAreFullAgainAtOnce() {
    throttle.set("t:*", Limit.ofRate(1e9, 1e9));
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 1_000; i++) {
        throttle.tryAcquire("t:" + i);
        throttle.tryAcquire("t:new" + round + ":" + i);
        clock.advanceNanos(200_000);
      }
      assertThat(throttle.stats()).extracting(LimitStats::name).contains("t:0", "t:999");
    }
    assertThat(throttle.size()).as("of 21,000").isBetween(5_000, 12_000);
  }

  @Test
  void aReadingFromTheFuture_costsNoOtherKeyItsTokens() {
    throttle.set("slow:*", Limit.ofRate(0.001, 10));
    throttle.set("fast:*", Limit.ofRate(1, 10));
    assertThat(throttle.tryAcquire("slow:1", 10)).isTrue();
    for (int i = 0; i < 1_000; i++) {
      throttle.tryAcquire("fast:" + i, 1, 1_000_000 * SECOND);
    }
    assertThat(throttle.tryAcquire("fast:new", 10)).isTrue();
    assertThat(throttle.tryAcquire("slow:1")).isFalse();
  }

  @Test
  void aKeyThatComesBack_withAReadingFromBeforeItsEviction_getsNoSecondBurst() {
    throttle.set("t:*", Limit.ofRate(1, 10));
    assertThat(throttle.tryAcquire("t:1", 10, 0)).isTrue();
    assertThat(throttle.evictIdle(10 * SECOND)).isEqualTo(1);
    assertThat(throttle.tryAcquire("t:1", 1, 0)).isFalse();
    assertThat(throttle.tryAcquire("t:1", 4, 4 * SECOND)).isTrue();
    assertThat(throttle.tryAcquire("t:1", 1, 4 * SECOND)).isFalse();
  }

  @Test
  void aClockThatThrows_leavesNoLockBehind() {
    boolean[] broken = {false};
    Limits fragile =
        Limits.builder()
            .clock(
                () -> {
                  if (broken[0]) {
                    throw new IllegalStateException("no time");
                  }
                  return 0;
                })
            .build();
    fragile.set("a", Limit.ofRate(999_999_937, 1_000));
    broken[0] = true;
    long later = 10 * SECOND;
    assertThatThrownBy(() -> fragile.tryAcquire("a", 1, later)).hasMessage("no time");
    assertThatThrownBy(() -> fragile.tryAcquire(List.of("a"), 1, later)).hasMessage("no time");
    broken[0] = false;
    assertThat(fragile.tryAcquire("a", 1, later)).isTrue();
  }

  @Test
  void misuse_namesRuleAndValue_andChangesNothing() {
    throttle.set("a", Limit.ofRate(1, 5));
    throttle.set("t:*", Limit.ofRate(1, 5));
    assertRefused(() -> throttle.set("a", Limit.ofRate(Double.NaN, 1)), "perSecond", "NaN");
    assertRefused(() -> throttle.set("a", Limit.ofRate(-1, 1)), "perSecond", "-1.0");
    assertRefused(() -> throttle.set("a", Limit.ofRate(Double.POSITIVE_INFINITY, 1)), "Infinity");
    assertRefused(() -> throttle.set("a", Limit.ofRate(1, Double.NaN)), "burst", "NaN");
    assertRefused(() -> throttle.set("a", Limit.ofRate(1, -0.5)), "burst", "-0.5");
    assertRefused(
        () -> throttle.set("a", Limit.ofRate(1, Double.POSITIVE_INFINITY)), "burst", "Infinity");
    assertRefused(() -> throttle.set("", Limit.ofRate(1, 1)), "name must not be empty");
    assertRefused(() -> throttle.set("a", Limit.ofRate(1e-300, 1)), "out of range");
    assertRefused(() -> throttle.set("a", Limit.manual(5)), "must be Balanced, Rate or DenyAll");
    assertRefused(() -> throttle.set("t:*", Limit.strict(5, Duration.ofSeconds(1))), "Strict");
    assertRefused(() -> throttle.set("t*:*", Limit.ofRate(1, 1)), "one asterisk");
    assertRefused(() -> throttle.set("t:*", Limit.ofRate(Double.NaN, 1)), "NaN");
    assertRefused(() -> throttle.tryAcquire("a", 0), "cost must be positive", "cost=0");
    assertRefused(() -> throttle.decide("a", -1), "cost=-1");
    assertRefused(() -> throttle.peek("", 1), "name must not be empty");
    assertRefused(() -> throttle.tryAcquire(List.of("a", "t:1", "")), "name must not be empty");
    assertRefused(() -> throttle.tryAcquire(List.of("a"), 0), "cost=0");
    assertRefused(() -> throttle.decide(Map.of("a", 1L, "t:1", 0L)), "cost=0");
    assertThatThrownBy(() -> throttle.tryAcquire(Arrays.asList("t:1", "a", null)))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("name");
    Map<String, Long> costs = new HashMap<>(Map.of("a", 1L));
    costs.put("t:1", null);
    assertThatThrownBy(() -> throttle.tryAcquire(costs))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("cost");
    assertThat(throttle.stats()).containsExactly(standing("a", 5, 1, 5));
  }

  private static void assertRefused(ThrowingCallable call, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(parts);
  }

  private double level(String key) {
    return throttle.stats(key).orElseThrow().level();
  }

  private double burst(String key) {
    return ((Limit.Rate) throttle.stats(key).orElseThrow().limit()).burst();
  }

  private static LimitStats standing(String name, double level, double perSecond, double burst) {
    return new LimitStats(
        name, Limit.ofRate(perSecond, burst), level, 0, 0, Optional.empty(), OptionalLong.empty());
  }
}
