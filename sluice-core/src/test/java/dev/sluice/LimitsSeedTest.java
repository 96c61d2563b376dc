package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The acceptance criteria of the source document, one test each, in its order. */
final class LimitsSeedTest {
  private final ManualClock clock = ManualClock.create();
  private final Limits limits = Limits.builder().clock(clock).build();

  @Test
  void criterion1_tokensAreRefilledByElapsedTime() {
    limits.set("key", Limit.ofRate(10, 10));
    assertThat(limits.tryAcquire("key", 10)).isTrue();
    clock.advance(Duration.ofMillis(250));
    assertThat(level("key")).isEqualTo(2.5);
    assertThat(limits.tryAcquire("key", 2)).isTrue();
    assertThat(limits.tryAcquire("key")).isFalse();
    clock.advance(Duration.ofMillis(50));
    assertThat(limits.tryAcquire("key")).isTrue();
  }

  @Test
  void criterion2_withSufficientTokens_returnsTrueAndDecrements() {
    limits.set("key", Limit.ofRate(1, 10));
    assertThat(limits.tryAcquire("key", 3)).isTrue();
    assertThat(level("key")).isEqualTo(7);
  }

  @Test
  void criterion3_withInsufficientTokens_returnsFalseWithoutModification() {
    limits.set("key", Limit.ofRate(1, 10));
    assertThat(limits.tryAcquire("key", 8)).isTrue();
    assertThat(limits.tryAcquire("key", 3)).isFalse();
    assertThat(level("key")).isEqualTo(2);
    assertThat(limits.tryAcquire("key", 2)).isTrue();
  }

  @Test
  void criterion4_tokensNeverExceedTheBurst() {
    limits.set("key", Limit.ofRate(100, 5));
    clock.advance(Duration.ofHours(1));
    assertThat(level("key")).isEqualTo(5);
    assertThat(limits.tryAcquire("key", 6)).isFalse();
    assertThat(limits.tryAcquire("key", 5)).isTrue();
    assertThat(limits.tryAcquire("key")).isFalse();
  }

  @Test
  void criterion6_bucketsAreCreatedUpdatedAndRemovedByKey() {
    limits.set("key", Limit.ofRate(1, 10));
    assertThat(limits.stats("key")).contains(standing("key", 10, 1, 10));
    limits.tryAcquire("key", 4);
    limits.set("key", Limit.ofRate(2, 20));
    assertThat(limits.stats("key")).contains(standing("key", 6, 2, 20));
    limits.set("key", Limit.ofRate(2, 5));
    assertThat(limits.stats("key")).contains(standing("key", 5, 2, 5));
    assertThat(limits.remove("key")).isTrue();
    assertThat(limits.remove("key")).isFalse();
    assertThat(limits.stats("key")).isEmpty();
    assertThat(limits.size()).isZero();
  }

  @Test
  void criterion7_takesOneOfEachName_orNone() {
    limits.set("provider:aws", Limit.ofRate(1, 2));
    limits.set("region:us-east-1", Limit.ofRate(1, 1));
    List<String> keys = List.of("provider:aws", "region:us-east-1");
    assertThat(limits.tryAcquire(keys)).isTrue();
    assertThat(level("provider:aws")).isEqualTo(1);
    assertThat(level("region:us-east-1")).isZero();
    assertThat(limits.tryAcquire(keys)).isFalse();
    assertThat(level("provider:aws")).as("not drained by a refusal elsewhere").isEqualTo(1);
  }

  @Test
  void criterion8_aKeyWithoutARate_passes() {
    assertThat(limits.tryAcquire("unknown", Long.MAX_VALUE)).isTrue();
    assertThat(limits.tryAcquire(List.of("unknown", "other"))).isTrue();
    limits.set("key", Limit.ofRate(0, 1));
    assertThat(limits.tryAcquire(List.of("unknown", "key"))).isTrue();
    assertThat(limits.tryAcquire(List.of("unknown", "key"))).isFalse();
    assertThat(limits.size()).as("nothing is kept for it").isEqualTo(1);
  }

  private double level(String key) {
    return limits.stats(key).orElseThrow().level();
  }

  private static LimitStats standing(String name, double level, double perSecond, double burst) {
    return new LimitStats(
        name, Limit.ofRate(perSecond, burst), level, 0, 0, Optional.empty(), OptionalLong.empty());
  }
}
