package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.governor.internal.monitor.ProviderFeedback;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProviderFeedbackTest {
  private static final long SECOND = 1_000_000_000L;
  private static final Instant WALL = Instant.parse("2026-11-16T10:00:00Z");
  private static final long TARGET_TPM = 240_000;

  private final ProviderFeedback feedback = new ProviderFeedback();
  private long available = 100_000;
  private long now = Long.MAX_VALUE - 5 * SECOND;

  private ProviderAdjustment answer(int status, String... headers) {
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i < headers.length; i += 2) {
      map.put(headers[i], headers[i + 1]);
    }
    return feedback.answer(new ProviderResponse(status, map), TARGET_TPM, available, now, WALL);
  }

  private void clean(int answers, long nanosApart) {
    for (int i = 0; i < answers; i++) {
      now += nanosApart;
      answer(200);
    }
  }

  private double factor() {
    return feedback.status().factor();
  }

  @Test
  void cleanAnswers_changeNothing() {
    assertThat(answer(200)).isEqualTo(new ProviderAdjustment(1, null, Duration.ZERO));
    clean(100, SECOND);
    assertThat(feedback.status()).isEqualTo(GovernorStatus.Provider.UNKNOWN);
  }

  @Test
  void refusal_withoutHeaders_lowersPausesAndEmpties() {
    assertThat(answer(429)).isEqualTo(new ProviderAdjustment(0.9, 0L, Duration.ofSeconds(2)));
    assertThat(feedback.status()).isEqualTo(new GovernorStatus.Provider(0.9, 0, 1));
  }

  @Test
  void refusals_ofCallsUnderWay_countOnce() {
    for (int i = 0; i < 10; i++) {
      answer(429);
      now += SECOND - 1;
    }
    assertThat(factor()).isEqualTo(0.9);
    now += 10;
    answer(429);
    assertThat(factor()).isCloseTo(0.81, within(1e-9));
    assertThat(feedback.status().throttled()).isEqualTo(11);
  }

  @Test
  void refusals_neverEnd_atTheFloor() {
    for (int i = 0; i < 100; i++) {
      assertThat(answer(429).factor()).isBetween(0.05, 1.0);
      now += 10 * SECOND;
    }
    assertThat(factor()).isEqualTo(0.05);
  }

  @Test
  void cleanAnswers_raise_byManyAndInAWhile() {
    answer(429);
    clean(19, SECOND);
    assertThat(factor()).isEqualTo(0.9);
    clean(1, SECOND);
    assertThat(factor()).isCloseTo(0.905, within(1e-9));
    clean(1_000, SECOND / 1_000);
    assertThat(factor()).isCloseTo(0.905, within(1e-9));
    clean(1, 10 * SECOND);
    assertThat(factor()).isCloseTo(0.91, within(1e-9));
    clean(2_000, SECOND);
    assertThat(factor()).isEqualTo(1);
  }

  @Test
  void refusal_startsTheCleanAnswersAnew() {
    answer(429);
    clean(19, SECOND);
    answer(429);
    double low = factor();
    clean(19, SECOND);
    assertThat(factor()).isEqualTo(low);
  }

  @Test
  void otherErrors_doNotRaiseTheFactor() {
    answer(429);
    for (int i = 0; i < 100; i++) {
      now += SECOND;
      answer(400);
      answer(500);
      answer(503);
    }
    assertThat(factor()).isEqualTo(0.9);
  }

  @Test
  void pause_goesOnUntilItsEnd_andIsBounded() {
    assertThat(answer(429, "retry-after", "30").pause()).isEqualTo(Duration.ofSeconds(30));
    now += 10 * SECOND;
    assertThat(answer(200).pause()).isEqualTo(Duration.ofSeconds(20));
    assertThat(answer(429, "retry-after", "5").pause()).isEqualTo(Duration.ofSeconds(20));
    now += 20 * SECOND;
    assertThat(answer(200).pause()).isZero();
    assertThat(answer(429, "retry-after", "86400").pause()).isEqualTo(Duration.ofMinutes(5));
  }

  @Test
  void refusal_thatMayBeRetriedAtOnce_pausesAllTheSame() {
    assertThat(answer(429, "retry-after", "0").pause()).isEqualTo(Duration.ofSeconds(2));
  }

  @Test
  void refusal_withASoonReset_pausesUntilThen() {
    assertThat(
            answer(429, "x-ratelimit-limit-tokens", "240000", "x-ratelimit-reset-tokens", "12ms")
                .pause())
        .isEqualTo(Duration.ofMillis(12));
  }

  @ParameterizedTest
  @ValueSource(ints = {503, 529})
  void overload_doesNotLowerTheFactor(int status) {
    assertThat(answer(status)).isEqualTo(new ProviderAdjustment(1, null, Duration.ZERO));
    assertThat(answer(status, "retry-after", "7"))
        .isEqualTo(new ProviderAdjustment(1, null, Duration.ofSeconds(7)));
    assertThat(feedback.status()).isEqualTo(GovernorStatus.Provider.UNKNOWN);
  }

  @Test
  void remaining_lowersTheBucket_andReportsTheDrift() {
    assertThat(answer(200, "x-ratelimit-remaining-tokens", "60000").maxTokens()).isEqualTo(60_000);
    assertThat(feedback.status().driftTokens()).isEqualTo(40_000);
    available = -500;
    assertThat(answer(200, "anthropic-ratelimit-tokens-remaining", "2000").maxTokens())
        .isEqualTo(2_000);
    assertThat(feedback.status().driftTokens()).isEqualTo(-2_500);
    answer(200);
    assertThat(feedback.status().driftTokens()).isEqualTo(-2_500);
  }

  @Test
  void limitBelowTheTarget_appliesAtOnce() {
    assertThat(answer(200, "x-ratelimit-limit-tokens", "192000").factor()).isEqualTo(0.8);
    assertThat(answer(200).factor()).isEqualTo(0.8);
    assertThat(answer(200, "x-ratelimit-limit-tokens", "216000").factor()).isEqualTo(0.9);
    assertThat(answer(200, "x-ratelimit-limit-tokens", "2000000").factor()).isEqualTo(1);
    assertThat(answer(200, "x-ratelimit-limit-tokens", "1").factor()).isEqualTo(0.05);
    assertThat(answer(200, "x-ratelimit-limit-tokens", "-1").factor()).isEqualTo(0.05);
  }

  @Test
  void refusal_thatTheLimitExplains_lowersNoFurther() {
    String[] headers = {"x-ratelimit-limit-tokens", "192000", "x-ratelimit-remaining-tokens", "9"};
    assertThat(answer(429, headers).factor()).isEqualTo(0.8);
    assertThat(answer(429, headers))
        .isEqualTo(new ProviderAdjustment(0.8, 9L, Duration.ofSeconds(2)));
    assertThat(answer(200, "x-ratelimit-limit-tokens", "240000").factor()).isEqualTo(1);
  }

  @Test
  void refusal_thatTheLimitDoesNotExplain_lowers() {
    String[] headers = {"x-ratelimit-limit-tokens", "192000", "x-ratelimit-remaining-tokens", "9"};
    answer(200, headers);
    now += 11 * SECOND;
    assertThat(answer(429, headers).factor()).isCloseTo(0.72, within(1e-9));
    clean(16 * 20, SECOND);
    assertThat(factor()).isEqualTo(0.8);
  }

  @Test
  void requestsUsedUp_waitForTheNext_andKeepTheTokens() {
    ProviderAdjustment adjustment =
        answer(
            429,
            "x-ratelimit-limit-requests",
            "60",
            "x-ratelimit-remaining-requests",
            "0",
            "x-ratelimit-reset-requests",
            "6m0s",
            "x-ratelimit-remaining-tokens",
            "50000");
    assertThat(adjustment).isEqualTo(new ProviderAdjustment(1, 50_000L, Duration.ofSeconds(6)));
    now += 60 * SECOND;
    assertThat(
            answer(
                    200,
                    "x-ratelimit-limit-requests",
                    "600",
                    "x-ratelimit-remaining-requests",
                    "0",
                    "x-ratelimit-reset-requests",
                    "60s")
                .pause())
        .isEqualTo(Duration.ofMillis(100));
  }

  /** An answer of the provider, {@code advanceNanos} after the one before. */
  record Answer(long advanceNanos, int status, List<String> headers) {}

  @Test
  void randomResponses_neverRaiseTheBudget() {
    Property.check(
        300,
        generator -> {
          List<Answer> answers = generator.list(1, 60, ProviderFeedbackTest::anyAnswer);
          new ProviderFeedbackTest().requireNothingIsAdded(answers);
        });
  }

  private void requireNothingIsAdded(List<Answer> answers) {
    for (Answer each : answers) {
      now += each.advanceNanos;
      ProviderAdjustment adjustment = answer(each.status, each.headers.toArray(String[]::new));
      assertThat(adjustment.factor()).isBetween(0.05, 1.0);
      assertThat(adjustment.pause()).isBetween(Duration.ZERO, Duration.ofMinutes(5));
      Long atMost = adjustment.maxTokens();
      assertThat(atMost == null || atMost >= 0).isTrue();
    }
  }

  private static Answer anyAnswer(Generator generator) {
    return new Answer(
        generator.longBetween(0, 20 * SECOND),
        generator.pick(200, 200, 200, 400, 429, 500, 503, 529),
        generator.list(0, 4, ProviderFeedbackTest::anyHeader).stream()
            .flatMap(List::stream)
            .toList());
  }

  private static List<String> anyHeader(Generator generator) {
    return List.of(
        generator.pick(
            "x-ratelimit-limit-tokens",
            "x-ratelimit-remaining-tokens",
            "x-ratelimit-reset-tokens",
            "x-ratelimit-limit-requests",
            "x-ratelimit-remaining-requests",
            "x-ratelimit-reset-requests",
            "retry-after",
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining"),
        generator.pick("0", "-1", "7", "1000", "192000", "999999999", "x", "6m0s", "0.5", ""));
  }
}
