package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The acceptance criteria of the source document, one test each, in its order. */
final class ThrottleSeedTest {
  private final ManualClock clock = ManualClock.create();
  private final Limits throttle = Limits.create(clock);

  @Test
  void criterion1_tokensAreRefilledByElapsedTime() {
    throttle.setRate("key", 10, 10);
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
    throttle.setRate("key", 1, 10);
    assertThat(throttle.tryAcquire("key", 3)).isTrue();
    assertThat(level("key")).isEqualTo(7);
  }

  @Test
  void criterion3_withInsufficientTokens_returnsFalseWithoutModification() {
    throttle.setRate("key", 1, 10);
    assertThat(throttle.tryAcquire("key", 8)).isTrue();
    assertThat(throttle.tryAcquire("key", 3)).isFalse();
    assertThat(level("key")).isEqualTo(2);
    assertThat(throttle.tryAcquire("key", 2)).isTrue();
  }

  @Test
  void criterion4_tokensNeverExceedTheBurst() {
    throttle.setRate("key", 100, 5);
    clock.advance(Duration.ofHours(1));
    assertThat(level("key")).isEqualTo(5);
    assertThat(throttle.tryAcquire("key", 6)).isFalse();
    assertThat(throttle.tryAcquire("key", 5)).isTrue();
    assertThat(throttle.tryAcquire("key")).isFalse();
  }

  @Test
  void criterion6_bucketsAreCreatedUpdatedAndRemovedByKey() {
    throttle.setRate("key", 1, 10);
    assertThat(throttle.stats("key")).contains(new Limits.Snapshot("key", 10, 1, 10));
    throttle.tryAcquire("key", 4);
    throttle.setRate("key", 2, 20);
    assertThat(throttle.stats("key")).contains(new Limits.Snapshot("key", 6, 2, 20));
    throttle.setRate("key", 2, 5);
    assertThat(throttle.stats("key")).contains(new Limits.Snapshot("key", 5, 2, 5));
    assertThat(throttle.removeRate("key")).isTrue();
    assertThat(throttle.removeRate("key")).isFalse();
    assertThat(throttle.stats("key")).isEmpty();
    assertThat(throttle.size()).isZero();
  }

  @Test
  void criterion7_consumesOneOfEachKey_orOfNone() {
    throttle.setRate("provider:aws", 1, 2);
    throttle.setRate("region:us-east-1", 1, 1);
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
    throttle.setRate("key", 0, 1);
    assertThat(throttle.tryAcquire(List.of("unknown", "key"))).isTrue();
    assertThat(throttle.tryAcquire(List.of("unknown", "key"))).isFalse();
    assertThat(throttle.size()).as("nothing is kept for it").isEqualTo(1);
  }

  private double level(String key) {
    return throttle.stats(key).orElseThrow().level();
  }
}
