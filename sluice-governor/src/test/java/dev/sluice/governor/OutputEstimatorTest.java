package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class OutputEstimatorTest {
  private final OutputEstimator estimator = new OutputEstimator();

  private static TokenSettlement used(String tenant, long requested, long actual) {
    return new TokenSettlement("m", tenant, requested, requested, actual, 0, 0, 0);
  }

  private void learn(int times, long requested, long actual) {
    for (int i = 0; i < times; i++) {
      estimator.learn(used("t", requested, actual));
    }
  }

  private long estimate(long requested) {
    return estimator.estimate("m", "t", requested);
  }

  @Test
  void estimate_beforeTwentyCalls_isTheRequest() {
    learn(19, 1_000, 700);
    assertThat(estimate(1_000)).isEqualTo(1_000);
    learn(1, 1_000, 700);
    assertThat(estimate(1_000)).isEqualTo(700);
  }

  @Test
  void estimate_isRoundedUp_andPositive() {
    learn(20, 3, 2);
    assertThat(estimate(3)).isEqualTo(3);
    assertThat(estimate(1)).isEqualTo(1);
    assertThat(estimate(300_000)).isEqualTo(200_010);
  }

  @Test
  void estimate_isTheNineteenthOfTwenty() {
    for (int i = 1; i <= 20; i++) {
      estimator.learn(used("t", 100, 5L * i));
    }
    assertThat(estimate(100)).isEqualTo(95);
  }

  @Test
  void estimate_staysWithinItsBounds() {
    learn(20, 1_000_000, 1);
    assertThat(estimate(1_000)).isEqualTo(500);
    assertThat(estimate(9)).isEqualTo(5);
    learn(100, 1_000, 5_000);
    assertThat(estimate(1_000)).isEqualTo(1_000);
    assertThat(estimate(Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
    assertThat(estimate(0)).isZero();
    assertThat(estimate(-5)).isEqualTo(-5);
  }

  @Test
  void estimate_forgetsOldCalls() {
    learn(OutputEstimator.WINDOW, 1_000, 900);
    learn(OutputEstimator.WINDOW - 11, 1_000, 600);
    assertThat(estimate(1_000)).isEqualTo(900);
    learn(2, 1_000, 600);
    assertThat(estimate(1_000)).isEqualTo(600);
  }

  @Test
  void learn_ignoresUnusedCalls() {
    learn(50, 1_000, 0);
    assertThat(estimate(1_000)).isEqualTo(1_000);
    learn(20, 1_000, 600);
    learn(50, 1_000, 0);
    assertThat(estimate(1_000)).isEqualTo(600);
  }

  @Test
  void learn_isByModelAndTenant() {
    learn(20, 1_000, 100);
    assertThat(estimator.estimate("m", "other", 1_000)).isEqualTo(1_000);
    assertThat(estimator.estimate("other", "t", 1_000)).isEqualTo(1_000);
  }

  @Test
  void tenants_areBounded_theLongestUnusedGoesFirst() {
    learn(20, 1_000, 100);
    estimator.learn(used("idle", 1_000, 100));
    for (int i = 0; i < 19; i++) {
      estimator.learn(used("idle", 1_000, 100));
    }
    for (int i = 0; i < OutputEstimator.MOST_TENANTS - 1; i++) {
      assertThat(estimate(1_000)).isEqualTo(500);
      estimator.learn(used("t" + i, 1_000, 100));
    }
    assertThat(estimate(1_000)).isEqualTo(500);
    assertThat(estimator.estimate("m", "idle", 1_000)).isEqualTo(1_000);
  }

  @Test
  void estimate_coversNineOfTenCalls_andSavesMuch() {
    Random random = new Random(7);
    int within = 0;
    long reserved = 0;
    for (int call = 0; call < 10_000; call++) {
      long actual = 1 + (long) (2_000 * Math.min(1, Math.exp(random.nextGaussian() / 2 - 1)));
      long estimate = estimate(2_000);
      within += actual <= estimate ? 1 : 0;
      reserved += estimate;
      estimator.learn(used("t", 2_000, actual));
    }
    assertThat(within).isBetween(8_900, 9_300);
    assertThat(reserved).isLessThan(2_000L * 10_000 * 8 / 10);
  }
}
