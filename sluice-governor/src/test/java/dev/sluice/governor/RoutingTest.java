package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Estimates among models that are declared equivalent. */
class RoutingTest {
  private static final String P1 = "P1_user";

  private final VirtualTimer timer = new VirtualTimer();

  private static TokenRequest any(long tokens) {
    return TokenRequest.of("any", tokens).withPriorityClass(P1);
  }

  @Test
  void eachModelOfARoute_hasItsOwnEstimate() {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put("learns", SeedBudget.budget(60, 10_000).estimateOutput(true).build());
    models.put("plain", SeedBudget.budget(60_000, 10_000).build());
    Map<String, List<String>> route = Map.of("any", List.of("learns", "plain"));
    try (Governor created =
        Governor.builder(BudgetConfig.builder().models(models).routes(route).build())
            .clock(timer)
            .build()) {
      Governor.Blocking other = created.blocking();
      for (int i = 0; i < 30; i++) {
        TokenDecision.Granted granted =
            (TokenDecision.Granted)
                other.request(TokenRequest.of("learns", 1_000).withPriorityClass(P1));
        other.settle(granted.reservation(), 100);
        timer.advance(200 * WaitingListFixture.SECOND);
      }
      other.request(TokenRequest.of("learns", 10_000).withPriorityClass(P1));
      while (other.request(TokenRequest.of("learns", 1_000).withPriorityClass(P1))
          instanceof TokenDecision.Granted) {
        // Until nothing is left.
      }
      other.request(TokenRequest.of("plain", 10_000).withPriorityClass(P1));
      TokenDecision.Queued queued = (TokenDecision.Queued) other.request(any(1_000));
      assertThat(queued.model()).isEqualTo("plain");
      assertThat(queued.retryAfter()).hasValue(Duration.ofSeconds(1));
    }
  }

  @Test
  void unknownModel_isToldOfRoutesToo() {
    BudgetConfig config =
        BudgetConfig.builder()
            .models(Map.of("one", SeedBudget.budget(60, 10_000).build()))
            .routes(Map.of("any", List.of("one")))
            .build();
    try (Governor governor = Governor.builder(config).clock(timer).build()) {
      assertThatThrownBy(
              () -> governor.blocking().request(TokenRequest.of("two", 1).withPriorityClass(P1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("model must be one of [one, any], but was two");
      assertThatThrownBy(
              () -> governor.blocking().explain(TokenRequest.of("two", 1).withPriorityClass(P1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("[one, any]");
    }
  }
}
