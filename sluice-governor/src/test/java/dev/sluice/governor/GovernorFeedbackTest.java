package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class GovernorFeedbackTest {
  private static final String CLASS = "P0_clinical";

  private final VirtualTimer timer = new VirtualTimer();
  private final Governor governor =
      Governor.builder(
              BudgetConfig.builder()
                  .models(
                      Map.of(
                          "m", SeedBudget.budget(60_000, 100_000).build(),
                          "n", SeedBudget.budget(60_000, 100_000).build()))
                  .build())
          .clock(timer)
          .build();

  @AfterEach
  void close() {
    governor.close();
  }

  private void answer(int status, String... headers) {
    Map<String, String> map = new java.util.HashMap<>();
    for (int i = 0; i < headers.length; i += 2) {
      map.put(headers[i], headers[i + 1]);
    }
    governor.blocking().feedback("m", new ProviderResponse(status, map));
  }

  private GovernorStatus.Model model(String name) {
    return governor.blocking().status().models().get(name);
  }

  @Test
  void providerRefusal_pausesGrantsUntilItsEnd() {
    answer(429, "Retry-After", "30");
    TokenDecision.Queued queued =
        (TokenDecision.Queued)
            governor.blocking().request(TokenRequest.of("m", 10).withPriorityClass(CLASS));
    assertThat(queued.binding()).isEqualTo(BudgetDimension.PROVIDER);
    assertThat(governor.blocking().request(TokenRequest.of("n", 10).withPriorityClass(CLASS)))
        .isInstanceOf(TokenDecision.Granted.class);
    timer.advance(Duration.ofSeconds(30).toNanos() - 1);
    assertThat(governor.blocking().poll(queued.ticket()).orElseThrow())
        .isInstanceOf(TokenDecision.Queued.class);
    timer.advance(1);
    assertThat(governor.blocking().poll(queued.ticket()).orElseThrow())
        .isInstanceOf(TokenDecision.Granted.class);
  }

  @Test
  void remainingTokensOfTheProvider_lowerTheBucket() {
    answer(200, "x-ratelimit-limit-tokens", "48000", "x-ratelimit-remaining-tokens", "5000");
    assertThat(model("m").available()).isEqualTo(5_000);
    assertThat(model("m").provider()).isEqualTo(new GovernorStatus.Provider(0.8, 95_000, 0));
    assertThat(model("n").provider()).isEqualTo(GovernorStatus.Provider.UNKNOWN);
    timer.advance(Duration.ofSeconds(10).toNanos());
    assertThat(model("m").available()).isEqualTo(5_000 + 8_000);
  }

  @Test
  void remainingTokensOfTheProvider_neverRaiseTheBucket() {
    governor.blocking().request(TokenRequest.of("m", 99_000).withPriorityClass(CLASS));
    answer(200, "x-ratelimit-limit-tokens", "9000000", "x-ratelimit-remaining-tokens", "9000000");
    assertThat(model("m").available()).isEqualTo(1_000);
    timer.advance(Duration.ofSeconds(10).toNanos());
    assertThat(model("m").available()).isEqualTo(11_000);
  }

  @Test
  void unknownModel_isRefused() {
    assertThatThrownBy(() -> governor.blocking().feedback("x", new ProviderResponse(200, Map.of())))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("model must be one of")
        .hasMessageContaining("x");
  }
}
