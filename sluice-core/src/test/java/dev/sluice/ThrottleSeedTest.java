package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The acceptance criteria of the source document, one test each, in its order. */
final class ThrottleSeedTest {
  private final ManualClock clock = ManualClock.create();
  private final Limits throttle = Limits.builder().clock(clock).build();

  @Test
  void criterion1_tokensAreRefilledByElapsedTime() {
    throttle.set("key", Limit.ofRate(10, 10));
    assertThat(throttle.tryAcquire("key", 10)).isTrue();
    clock.advance(Duration.ofMillis(250));
    assertThat(level("key")).isEqualTo(2.5);
    assertThat(throttle.tryAcquire("key", 2)).isTrue();
    assertThat(throttle.tryAcquire("key")).isFalse();
    clock.advance(Duration.ofMillis(50));
    assertThat(throttle.tryAcquire("key")).isTrue();
  }

  @Test
  void criterion2_withSufficientTokens_returnsTrueAndDecrements() {
    throttle.set("key", Limit.ofRate(1, 10));
    assertThat(throttle.tryAcquire("key", 3)).isTrue();
    assertThat(level("key")).isEqualTo(7);
  }

  @Test
  void criterion3_withInsufficientTokens_returnsFalseWithoutModification() {
    throttle.set("key", Limit.ofRate(1, 10));
    assertThat(throttle.tryAcquire("key", 8)).isTrue();
    assertThat(throttle.tryAcquire("key", 3)).isFalse();
    assertThat(level("key")).isEqualTo(2);
    assertThat(throttle.tryAcquire("key", 2)).isTrue();
  }

  @Test
  void criterion4_tokensNeverExceedTheBurst() {
    throttle.set("key", Limit.ofRate(100, 5));
    clock.advance(Duration.ofHours(1));
    assertThat(level("key")).isEqualTo(5);
    assertThat(throttle.tryAcquire("key", 6)).isFalse();
    assertThat(throttle.tryAcquire("key", 5)).isTrue();
    assertThat(throttle.tryAcquire("key")).isFalse();
  }

  @Test
  void criterion6_bucketsAreCreatedUpdatedAndRemovedByKey() {
    throttle.set("key", Limit.ofRate(1, 10));
    assertThat(throttle.stats("key")).contains(standing("key", 10, 1, 10));
    throttle.tryAcquire("key", 4);
    throttle.set("key", Limit.ofRate(2, 20));
    assertThat(throttle.stats("key")).contains(standing("key", 6, 2, 20));
    throttle.set("key", Limit.ofRate(2, 5));
    assertThat(throttle.stats("key")).contains(standing("key", 5, 2, 5));
    assertThat(throttle.remove("key")).isTrue();
    assertThat(throttle.remove("key")).isFalse();
    assertThat(throttle.stats("key")).isEmpty();
    assertThat(throttle.size()).isZero();
  }

  @Test
  void criterion7_consumesOneOfEachKey_orOfNone() {
    throttle.set("provider:aws", Limit.ofRate(1, 2));
    throttle.set("region:us-east-1", Limit.ofRate(1, 1));
    List<String> keys = List.of("provider:aws", "region:us-east-1");
    assertThat(throttle.tryAcquire(keys)).isTrue();
    assertThat(level("provider:aws")).isEqualTo(1);
    assertThat(level("region:us-east-1")).isZero();
    assertThat(throttle.tryAcquire(keys)).isFalse();
    assertThat(level("provider:aws")).as("not drained by a refusal elsewhere").isEqualTo(1);
  }

  @Test
  void criterion8_aKeyWithoutARate_passes() {
    assertThat(throttle.tryAcquire("unknown", Long.MAX_VALUE)).isTrue();
    assertThat(throttle.tryAcquire(List.of("unknown", "other"))).isTrue();
    throttle.set("key", Limit.ofRate(0, 1));
    assertThat(throttle.tryAcquire(List.of("unknown", "key"))).isTrue();
    assertThat(throttle.tryAcquire(List.of("unknown", "key"))).isFalse();
    assertThat(throttle.size()).as("nothing is kept for it").isEqualTo(1);
  }

  private double level(String key) {
    return throttle.stats(key).orElseThrow().level();
  }

  private static LimitStats standing(String name, double level, double perSecond, double burst) {
    return new LimitStats(
        name, Limit.ofRate(perSecond, burst), level, 0, 0, Optional.empty(), OptionalLong.empty());
  }
}
