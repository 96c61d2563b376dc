package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/**
 * Contract of named limits, wherever their tokens are. A subclass creates them.
 *
 * @since 0.1
 */
public abstract class LimitsContract {
  private static final Duration SECOND = Duration.ofSeconds(1);

  /** A throttle under contract. */
  public interface Keys {
    /** Sets the rate of a key. */
    void setRate(String key, double ratePerSecond, double burst);

    /** Removes the rate of a key. */
    boolean removeRate(String key);

    /** Sets the rate of all keys that begin alike. */
    void setTemplate(String pattern, double ratePerSecond, double burst);

    /** Removes a template. */
    boolean removeTemplate(String pattern);

    /** Takes one token of each key, or none. */
    boolean tryConsume(List<String> keys);

    /** Takes the cost of each key, or nothing, and returns the decision. */
    Decision consume(Map<String, Long> costs);

    /** Returns the decision without taking tokens. */
    Decision peek(Map<String, Long> costs);

    /** Returns the state of a key. */
    Optional<LimitStats> snapshot(String key);
  }

  /** A new throttle without rates. */
  protected abstract Keys throttle();

  /** Returns the clock of the limits. */
  protected abstract ContractClock clock();

  private static double level(Keys throttle, String key) {
    return throttle.snapshot(key).orElseThrow().level();
  }

  private static boolean take(Keys throttle, String key, long cost) {
    return throttle.consume(Map.of(key, cost)).isGranted();
  }

  /** In that order. */
  private static Map<String, Long> costs(String one, long ofOne, String other, long ofOther) {
    Map<String, Long> costs = new LinkedHashMap<>();
    costs.put(one, ofOne);
    costs.put(other, ofOther);
    return costs;
  }

  @Test
  void criterion1_tokensAreRefilledByElapsedTime() {
    Keys throttle = throttle();
    throttle.setRate("key", 10, 10);
    assertThat(take(throttle, "key", 10)).isTrue();
    clock().advance(Duration.ofMillis(250));
    assertThat(level(throttle, "key")).isEqualTo(2.5);
    assertThat(take(throttle, "key", 2)).isTrue();
    assertThat(take(throttle, "key", 1)).isFalse();
    clock().advance(Duration.ofMillis(50));
    assertThat(take(throttle, "key", 1)).isTrue();
  }

  @Test
  void criterion2_withSufficientTokens_returnsTrueAndDecrements() {
    Keys throttle = throttle();
    throttle.setRate("key", 1, 10);
    assertThat(take(throttle, "key", 3)).isTrue();
    assertThat(level(throttle, "key")).isEqualTo(7);
  }

  @Test
  void criterion3_withInsufficientTokens_returnsFalseWithoutModification() {
    Keys throttle = throttle();
    throttle.setRate("key", 1, 10);
    assertThat(take(throttle, "key", 8)).isTrue();
    assertThat(take(throttle, "key", 3)).isFalse();
    assertThat(level(throttle, "key")).isEqualTo(2);
    assertThat(take(throttle, "key", 2)).isTrue();
  }

  @Test
  void criterion4_tokensNeverExceedTheBurst() {
    Keys throttle = throttle();
    throttle.setRate("key", 100, 5);
    clock().advance(Duration.ofHours(1));
    assertThat(level(throttle, "key")).isEqualTo(5);
    assertThat(take(throttle, "key", 6)).isFalse();
    assertThat(take(throttle, "key", 5)).isTrue();
    assertThat(take(throttle, "key", 1)).isFalse();
  }

  @Test
  void criterion6_bucketsAreCreatedUpdatedAndRemovedByKey() {
    Keys throttle = throttle();
    throttle.setRate("key", 1, 10);
    assertThat(throttle.snapshot("key")).contains(standing("key", 10, 1, 10));
    take(throttle, "key", 4);
    throttle.setRate("key", 2, 20);
    assertThat(throttle.snapshot("key")).contains(standing("key", 6, 2, 20));
    throttle.setRate("key", 2, 5);
    assertThat(throttle.snapshot("key")).contains(standing("key", 5, 2, 5));
    assertThat(throttle.removeRate("key")).isTrue();
    assertThat(throttle.removeRate("key")).isFalse();
    assertThat(throttle.snapshot("key")).isEmpty();
  }

  @Test
  void criterion7_consumesOneOfEachKey_orOfNone() {
    Keys throttle = throttle();
    throttle.setRate("provider:aws", 1, 2);
    throttle.setRate("region:us-east-1", 1, 1);
    List<String> keys = List.of("provider:aws", "region:us-east-1");
    assertThat(throttle.tryConsume(keys)).isTrue();
    assertThat(level(throttle, "provider:aws")).isEqualTo(1);
    assertThat(level(throttle, "region:us-east-1")).isZero();
    assertThat(throttle.tryConsume(keys)).isFalse();
    assertThat(level(throttle, "provider:aws"))
        .as("not drained by a refusal elsewhere")
        .isEqualTo(1);
  }

  @Test
  void criterion8_aKeyWithoutARate_passes() {
    Keys throttle = throttle();
    assertThat(take(throttle, "unknown", Long.MAX_VALUE)).isTrue();
    assertThat(throttle.tryConsume(List.of("unknown", "other"))).isTrue();
    throttle.setRate("key", 0, 1);
    assertThat(throttle.tryConsume(List.of("unknown", "key"))).isTrue();
    assertThat(throttle.tryConsume(List.of("unknown", "key"))).isFalse();
    assertThat(throttle.snapshot("unknown")).isEmpty();
  }

  @Test
  void noKeys_pass() {
    Keys throttle = throttle();
    throttle.setRate("key", 0, 0);
    assertThat(throttle.tryConsume(List.of())).isTrue();
    assertThat(throttle.consume(Map.of())).isEqualTo(new Decision.Granted(Long.MAX_VALUE));
    assertThat(throttle.peek(Map.of())).isEqualTo(new Decision.Granted(Long.MAX_VALUE));
  }

  @Test
  void consume_whenDenied_namesTheKeyWithTheLongestWait() {
    Keys throttle = throttle();
    throttle.setRate("fast", 10, 10);
    throttle.setRate("slow", 1, 10);
    assertThat(throttle.consume(costs("fast", 10, "slow", 10)).isGranted()).isTrue();
    for (Map<String, Long> costs :
        List.of(costs("fast", 5, "slow", 2), costs("slow", 2, "fast", 5))) {
      assertThat(throttle.consume(costs))
          .isEqualTo(new Decision.Denied("slow", Duration.ofSeconds(2).toNanos()));
      assertThat(throttle.peek(costs)).isEqualTo(throttle.consume(costs));
    }
    clock().advance(Duration.ofSeconds(2).minus(clock().tick()));
    assertThat(throttle.consume(costs("fast", 5, "slow", 2)).isGranted()).isFalse();
    clock().advance(clock().tick());
    assertThat(throttle.consume(costs("fast", 5, "slow", 2)).isGranted()).isTrue();
    assertThat(level(throttle, "fast")).isEqualTo(5);
  }

  @Test
  void consume_impossibleOrDepleted_countsAsTheLongestWait() {
    Keys throttle = throttle();
    throttle.setRate("denied", 0.001, 1);
    throttle.setRate("depleted", 0, 1);
    throttle.setRate("small", 100, 2.5);
    assertThat(throttle.consume(costs("denied", 1, "depleted", 1)).isGranted()).isTrue();
    assertThat(throttle.consume(costs("denied", 1, "depleted", 1)))
        .isEqualTo(new Decision.Depleted("depleted", 1));
    assertThat(throttle.consume(costs("depleted", 1, "denied", 1)))
        .isEqualTo(new Decision.Depleted("depleted", 1));
    assertThat(throttle.consume(costs("small", 3, "depleted", 1)))
        .isEqualTo(new Decision.Impossible("small", 2));
    assertThat(throttle.consume(costs("depleted", 1, "small", Long.MAX_VALUE)))
        .isEqualTo(new Decision.Impossible("small", 2));
    assertThat(level(throttle, "small")).isEqualTo(2.5);
  }

  @Test
  void rates_ofBurstBelowOneAndOfZero() {
    Keys throttle = throttle();
    throttle.setRate("tiny", 100, 0.5);
    throttle.setRate("none", 0, 0);
    clock().advance(SECOND);
    assertThat(throttle.consume(Map.of("tiny", 1L))).isEqualTo(new Decision.Impossible("tiny", 0));
    assertThat(throttle.consume(Map.of("none", 1L))).isEqualTo(new Decision.Impossible("none", 0));
  }

  @Test
  void badRates_areRefusedByNameAndValue() {
    Keys throttle = throttle();
    for (double bad : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY, -0.001}) {
      assertThatThrownBy(() -> throttle.setRate("key", bad, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(", but was " + bad);
      assertThatThrownBy(() -> throttle.setRate("key", 1, bad))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(", but was " + bad);
      assertThatThrownBy(() -> throttle.setTemplate("key:*", bad, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(", but was " + bad);
    }
    assertThat(throttle.snapshot("key")).isEmpty();
    assertThat(throttle.snapshot("key:1")).isEmpty();
  }

  @Test
  void badKeysAndCosts_areRefusedByNameAndValue() {
    Keys throttle = throttle();
    throttle.setRate("key", 1, 1);
    assertRefused(() -> throttle.setRate("", 1, 1), "name must not be empty");
    assertRefused(() -> throttle.tryConsume(List.of("")), "name must not be empty");
    assertRefused(() -> throttle.consume(Map.of("", 1L)), "name must not be empty");
    assertRefused(() -> throttle.removeRate(""), "name must not be empty");
    for (long cost : new long[] {0, -1, Long.MIN_VALUE}) {
      assertRefused(
          () -> throttle.consume(Map.of("key", cost)), "cost must be positive, but was " + cost);
    }
    for (String pattern : List.of("ten*ant:*", "**")) {
      String message = "pattern must have one asterisk, at its end, but was " + pattern;
      assertRefused(() -> throttle.setTemplate(pattern, 1, 1), message);
      assertRefused(() -> throttle.removeTemplate(pattern), message);
    }
    assertThat(level(throttle, "key")).isEqualTo(1);
  }

  private static void assertRefused(Runnable call, String message) {
    assertThatThrownBy(call::run).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
  }

  @Test
  void templates_theLongestPrefixApplies() {
    Keys throttle = throttle();
    throttle.setTemplate("*", 1, 1);
    throttle.setTemplate("tenant:a*", 1, 3);
    throttle.setTemplate("tenant:*", 1, 2);
    throttle.setRate("tenant:abc", 1, 4);
    assertThat(level(throttle, "tenant:abc")).isEqualTo(4);
    assertThat(burst(throttle, "tenant:abd", 3)).isTrue();
    assertThat(burst(throttle, "tenant:b", 2)).isTrue();
    assertThat(burst(throttle, "tenant:", 2)).isTrue();
    assertThat(burst(throttle, "tenant", 1)).isTrue();
    assertThat(throttle.removeTemplate("*")).isTrue();
    assertThat(throttle.removeTemplate("*")).isFalse();
    assertThat(throttle.tryConsume(List.of("other"))).isTrue();
    assertThat(throttle.tryConsume(List.of("other"))).isTrue();
  }

  /** Whether a key holds just so many tokens. */
  private static boolean burst(Keys throttle, String key, long tokens) {
    return take(throttle, key, tokens) && !take(throttle, key, 1);
  }

  @Test
  void templates_whenTheyChange_keysKeepTheirTokens() {
    Keys throttle = throttle();
    throttle.setTemplate("tenant:*", 1, 10);
    assertThat(take(throttle, "tenant:a", 6)).isTrue();
    throttle.setTemplate("tenant:*", 2, 20);
    assertThat(level(throttle, "tenant:a")).isEqualTo(4);
    assertThat(take(throttle, "tenant:a", 1)).isTrue();
    throttle.setTemplate("tenant:a*", 1, 2);
    assertThat(level(throttle, "tenant:a")).as("clamped").isEqualTo(2);
    assertThat(take(throttle, "tenant:a", 1)).isTrue();
    throttle.setRate("tenant:a", 1, 100);
    assertThat(level(throttle, "tenant:a")).as("never more").isEqualTo(1);
    assertThat(throttle.removeRate("tenant:a")).isTrue();
    assertThat(throttle.removeTemplate("tenant:a*")).isTrue();
    assertThat(throttle.snapshot("tenant:a")).contains(standing("tenant:a", 1, 2, 20));
  }

  @Test
  void setRate_appliesTheNewRate_beforeTheNextUse() {
    Keys throttle = throttle();
    throttle.setRate("key", 1000, 10);
    assertThat(take(throttle, "key", 10)).isTrue();
    throttle.setRate("key", 1, 1000);
    clock().advance(Duration.ofSeconds(5));
    assertThat(level(throttle, "key")).isEqualTo(5);
    throttle.setRate("full", 1, 10);
    throttle.setRate("full", 1, 20);
    assertThat(level(throttle, "full")).isEqualTo(10);
  }

  @Test
  void removeRate_resetsTheLevel() {
    Keys throttle = throttle();
    for (double rate : new double[] {0, 0.001}) {
      throttle.setRate("key", rate, 5);
      assertThat(take(throttle, "key", 5)).isTrue();
      assertThat(throttle.removeRate("key")).isTrue();
      assertThat(take(throttle, "key", 1_000)).as("passes").isTrue();
      throttle.setRate("key", rate, 5);
      assertThat(level(throttle, "key")).isEqualTo(5);
      assertThat(throttle.removeRate("key")).isTrue();
    }
  }

  @Test
  void setRate_keepsTheFraction() {
    Keys throttle = throttle();
    throttle.setRate("key", 10, 10);
    take(throttle, "key", 10);
    clock().advance(Duration.ofMillis(50));
    throttle.setRate("key", 1, 10);
    throttle.setRate("key", 1, 10);
    assertThat(throttle.peek(Map.of("key", 1L)))
        .isEqualTo(new Decision.Denied("key", Duration.ofMillis(500).toNanos()));
  }

  @Test
  void peek_takesNothing() {
    Keys throttle = throttle();
    throttle.setRate("key", 1, 2);
    assertThat(throttle.peek(Map.of("key", 2L)).isGranted()).isTrue();
    assertThat(level(throttle, "key")).isEqualTo(2);
  }

  private static LimitStats standing(String name, double level, double perSecond, double burst) {
    return new LimitStats(
        name, Limit.ofRate(perSecond, burst), level, 0, 0, Optional.empty(), OptionalLong.empty());
  }
}
