package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.MockProvider.Headers;
import dev.sluice.governor.ProviderSimulation.Result;
import dev.sluice.governor.ProviderSimulation.Setting;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A provider takes 80 % of the configured budget, unknown to the configuration. */
@Tag("any-jdk")
class ProviderSimulationTest {
  private static final int SEEDS = Math.max(1, Integer.getInteger("sluice.seeds", 500) / 500);
  private static final int BEFORE = 5;

  /** Minutes; the long run of {@code ./test --nightly} counts more of them. */
  private static final int COUNTED = SEEDS > 1 ? 30 : 10;

  private static Result run(Setting setting) {
    return ProviderSimulation.run(setting, BEFORE, COUNTED);
  }

  private static void holds(Setting setting) {
    Result result = run(setting);
    String what = setting + " " + result;
    assertThat(result.refusedShare()).as(what).isLessThan(0.01);
    assertThat(result.usedOfLimit()).as(what).isBetween(0.9, 1.02);
  }

  @ParameterizedTest
  @EnumSource(names = {"NONE", "OPENAI", "ANTHROPIC"})
  void afterFiveMinutes_hardlyAnyIsRefused_andTheLimitIsUsed(Headers headers) {
    for (int seed = 0; seed < SEEDS; seed++) {
      holds(new Setting(headers, 0.8, 60, 2_000, 6_000, true, seed));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "NONE, 0.8, 5, 2000, 6000", // hardly any burst
    "NONE, 0.8, 60, 8000, 16000", // few large calls
    "NONE, 0.8, 60, 500, 2000", // many small ones
    "NONE, 0.5, 60, 2000, 6000",
    "NONE, 0.95, 60, 2000, 6000",
    "OPENAI, 0.8, 10, 2000, 6000",
    "OPENAI, 0.8, 60, 8000, 16000",
    "ANTHROPIC, 0.5, 60, 500, 2000",
    "OPENAI_SHARED, 0.8, 60, 2000, 6000",
  })
  void otherLimitsAndLoads(
      Headers headers, double realShare, int bucketSeconds, long least, long most) {
    holds(new Setting(headers, realShare, bucketSeconds, least, most, true, 1));
  }

  @Test
  void headers_makeTheFactorExact() {
    for (Headers headers : new Headers[] {Headers.OPENAI, Headers.ANTHROPIC}) {
      Result result = run(new Setting(headers, 0.8, 60, 2_000, 6_000, true, 1));
      assertThat(result.standing().factor()).isEqualTo(0.8);
    }
  }

  @Test
  void withoutFeedback_callsAreRefusedThroughout() {
    Setting setting = new Setting(Headers.NONE, 0.8, 60, 2_000, 6_000, false, 1);
    Result result = ProviderSimulation.run(setting, BEFORE, 1);
    assertThat(result.refusedShare()).isGreaterThan(0.1);
  }
}
