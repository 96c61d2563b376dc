package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.internal.monitor.ProviderRateLimitHeaders;
import dev.sluice.properties.Property;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProviderSignalsTest {
  private static final String FIGURES = "0123456789-.:hmsTZ+";
  private static final Instant NOW = Instant.parse("2026-11-16T10:00:00Z");

  private static ProviderRateLimitHeaders signals(String... headers) {
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i < headers.length; i += 2) {
      map.put(headers[i], headers[i + 1]);
    }
    return ProviderRateLimitHeaders.of(new ProviderResponse(200, map), NOW);
  }

  @ParameterizedTest
  @CsvSource({
    "6m0s, PT6M",
    "12ms, PT0.012S",
    "1h2m3.5s, PT1H2M3.5S",
    "1s, PT1S",
    "0s, PT0S",
    "7.66s, PT7.66S",
    "2m59.56s, PT2M59.56S",
    "17.5ms, PT0.0175S",
    "250us, PT0.00025S",
    "250µs, PT0.00025S",
    "500ns, PT0.0000005S",
    "1.0000000009999s, PT1S",
    "24h0m0s, PT24H",
  })
  void goDuration_asPrintedByGo(String text, Duration expected) {
    assertThat(ProviderRateLimitHeaders.goDuration(text)).contains(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "s",
        "5",
        "-5s",
        "+5s",
        "1d",
        "1h 2m",
        "1.s",
        ".5s",
        "1,5s",
        "1sx",
        "x1s",
        "1e9s",
        "9999999999s",
        "999999999h",
        "NaNs",
        "１s",
        "1s1"
      })
  void goDuration_thatIsNone(String text) {
    assertThat(ProviderRateLimitHeaders.goDuration(text)).isEmpty();
  }

  @Test
  void goDuration_thatIsTooLong_isNotRead() {
    assertThat(ProviderRateLimitHeaders.goDuration("1s".repeat(32)))
        .contains(Duration.ofSeconds(32));
    assertThat(ProviderRateLimitHeaders.goDuration("1s".repeat(33))).isEmpty();
  }

  @Test
  void openAi_reportsLimitsAndRemainingTokens() {
    ProviderRateLimitHeaders signals =
        signals(
            "X-RateLimit-Limit-Requests", "60",
            "x-ratelimit-limit-tokens", "150000",
            "x-ratelimit-remaining-requests", "59",
            "x-ratelimit-remaining-tokens", " 149984 ",
            "x-ratelimit-reset-requests", "1s",
            "x-ratelimit-reset-tokens", "6m0s");
    assertThat(signals.tokens())
        .isEqualTo(
            new ProviderRateLimitHeaders.HeaderQuota(150_000L, 149_984L, Duration.ofMinutes(6)));
    assertThat(signals.requests())
        .isEqualTo(new ProviderRateLimitHeaders.HeaderQuota(60L, 59L, Duration.ofSeconds(1)));
    assertThat(signals.retryAfter()).isNull();
  }

  @Test
  void anthropic_reportsLimitsAndRemainingTokens_ofAllTokensFirst() {
    ProviderRateLimitHeaders signals =
        signals(
            "anthropic-ratelimit-requests-limit", "4000",
            "anthropic-ratelimit-requests-remaining", "3999",
            "anthropic-ratelimit-requests-reset", "2026-11-16T10:00:01Z",
            "anthropic-ratelimit-tokens-limit", "480000",
            "anthropic-ratelimit-tokens-remaining", "476000",
            "anthropic-ratelimit-tokens-reset", "2026-11-16T11:00:00.5+01:00",
            "anthropic-ratelimit-input-tokens-limit", "400000",
            "anthropic-ratelimit-input-tokens-remaining", "0",
            "anthropic-ratelimit-output-tokens-limit", "80000",
            "anthropic-ratelimit-output-tokens-remaining", "80000");
    assertThat(signals.requests())
        .isEqualTo(new ProviderRateLimitHeaders.HeaderQuota(4_000L, 3_999L, Duration.ofSeconds(1)));
    assertThat(signals.tokens())
        .isEqualTo(
            new ProviderRateLimitHeaders.HeaderQuota(480_000L, 476_000L, Duration.ofMillis(500)));
  }

  @Test
  void anthropic_inputAndOutputAlone_areAddedUp() {
    assertThat(
            signals(
                    "anthropic-ratelimit-input-tokens-limit", "400000",
                    "anthropic-ratelimit-input-tokens-remaining", "300000",
                    "anthropic-ratelimit-output-tokens-limit", "80000",
                    "anthropic-ratelimit-output-tokens-remaining", "70000")
                .tokens())
        .isEqualTo(new ProviderRateLimitHeaders.HeaderQuota(480_000L, 370_000L, null));
  }

  @Test
  void anthropic_eitherUsedUp_leavesNothing() {
    assertThat(
            signals(
                    "anthropic-ratelimit-input-tokens-limit", "400000",
                    "anthropic-ratelimit-input-tokens-remaining", "300000",
                    "anthropic-ratelimit-output-tokens-limit", "80000",
                    "anthropic-ratelimit-output-tokens-remaining", "0",
                    "anthropic-ratelimit-output-tokens-reset", "2026-11-16T10:00:30Z")
                .tokens())
        .isEqualTo(new ProviderRateLimitHeaders.HeaderQuota(480_000L, 0L, Duration.ofSeconds(30)));
  }

  @Test
  void anthropic_onlyOneOfThem_saysNothingOfTheSum() {
    assertThat(
            signals(
                    "anthropic-ratelimit-input-tokens-limit", "400000",
                    "anthropic-ratelimit-input-tokens-remaining", "300000")
                .tokens())
        .isEqualTo(ProviderRateLimitHeaders.HeaderQuota.UNSAID);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "", "none", "1000000000001", "99999999999999999999"})
  void limitThatCannotBeMeant_leavesNothingToGoBy(String limit) {
    assertThat(
            signals("x-ratelimit-limit-tokens", limit, "x-ratelimit-remaining-tokens", "0")
                .tokens())
        .isEqualTo(ProviderRateLimitHeaders.HeaderQuota.UNSAID);
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "", "1.5", "1e3", "0x10", "100, 100;w=60", "99999999999999999999"})
  void remainingThatCannotBeMeant_isNotSaid(String remaining) {
    ProviderRateLimitHeaders.HeaderQuota tokens =
        signals("x-ratelimit-limit-tokens", "1000", "x-ratelimit-remaining-tokens", remaining)
            .tokens();
    assertThat(tokens).isEqualTo(new ProviderRateLimitHeaders.HeaderQuota(1_000L, null, null));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "30 | PT30S",
        "0 | PT0S",
        "1.5 | PT1.5S",
        "0.25 | PT0.25S",
        "86400 | PT24H",
        "Mon, 16 Nov 2026 10:00:20 GMT | PT20S",
        "Mon, 16 Nov 2026 09:00:00 GMT | PT0S",
      })
  void retryAfter_inSecondsOrAsDate(String text, Duration expected) {
    assertThat(signals("Retry-After", text).retryAfter()).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "-1",
        "soon",
        "NaN",
        "Infinity",
        "1e9",
        "99999999999",
        "100000000",
        "1.",
        "Tue, 16 Nov 2026 10:00:20 GMT",
        "Sat, 16 Nov 9999 10:00:20 GMT",
        "Mon, 99 Nov 2026"
      })
  void retryAfter_thatCannotBeMeant_isNotSaid(String text) {
    assertThat(signals("retry-after", text).retryAfter()).isNull();
  }

  @Test
  void retryAfterMs_goesFirst_ifItIsOne() {
    assertThat(signals("retry-after-ms", "1500", "retry-after", "2").retryAfter())
        .isEqualTo(Duration.ofMillis(1_500));
    assertThat(signals("retry-after-ms", "-5", "retry-after", "2").retryAfter())
        .isEqualTo(Duration.ofSeconds(2));
  }

  @Test
  void reset_ofThePastOrFarAway() {
    assertThat(ProviderRateLimitHeaders.timeUntil("2020-01-01T00:00:00Z", NOW))
        .contains(Duration.ZERO);
    assertThat(ProviderRateLimitHeaders.timeUntil("2099-01-01T00:00:00Z", NOW)).isEmpty();
    assertThat(ProviderRateLimitHeaders.timeUntil("+999999999-12-31T23:59:59-18:00", NOW))
        .isEmpty();
    assertThat(ProviderRateLimitHeaders.timeUntil("-999999999-01-01T00:00:00+18:00", NOW))
        .contains(Duration.ZERO);
    assertThat(ProviderRateLimitHeaders.timeUntil("2026-11-16 10:00:00", NOW))
        .isEqualTo(Optional.empty());
  }

  @Test
  void anything_isReadWithoutAnError() {
    Property.check(
        500,
        generator -> {
          String one = generator.string(100);
          String two = generator.string(30, FIGURES);
          String three = generator.string(30, FIGURES);
          ProviderRateLimitHeaders signals =
              signals(
                  "x-ratelimit-limit-tokens", three,
                  "x-ratelimit-remaining-tokens", two,
                  "x-ratelimit-reset-tokens", one,
                  "anthropic-ratelimit-requests-limit", two,
                  "anthropic-ratelimit-requests-remaining", three,
                  "anthropic-ratelimit-requests-reset", two,
                  "retry-after", two,
                  "retry-after-ms", one);
          Duration wait = signals.retryAfter();
          assertThat(wait == null || !wait.isNegative()).isTrue();
          Long limit = signals.tokens().limit();
          assertThat(limit == null || limit > 0).isTrue();
          Long remaining = signals.tokens().remaining();
          assertThat(remaining == null || remaining >= 0).isTrue();
        });
  }
}
