package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenExplanation.Outcome;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Contract of routes over every budget store: the governor chooses the first model that grants now,
 * or else the one with the shortest wait. Subclasses supply the store.
 *
 * @since 0.1
 */
public abstract class RoutingContract extends BudgetSuite {
  private static ModelBudget slow() {
    return SeedBudget.budget(60_000, 10_000).build();
  }

  private static BudgetConfig route(Map<String, ModelBudget> models) {
    return BudgetConfig.builder()
        .models(models)
        .routes(Map.of("any", List.copyOf(models.keySet())))
        .build();
  }

  private Governor governor() {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put("slow", slow());
    models.put("fast", SeedBudget.budget(600_000, 10_000).build());
    models.put("small", SeedBudget.budget(600_000, 100).build());
    return governor(route(models));
  }

  private static TokenRequest any(long tokens) {
    return TokenRequest.of("any", tokens).withPriorityClass(P1);
  }

  private static long asked(Governor governor, String model) {
    return Objects.requireNonNull(governor.blocking().status().models().get(model))
        .counts()
        .totalRequests();
  }

  @Test
  void firstModelThatGrantsNow_isChosen_inTheOrderOfTheRoute() {
    Governor governor = governor();
    assertThat(governor.blocking().request(any(10_000)).model()).isEqualTo("slow");
    assertThat(governor.blocking().request(any(10_000)).model()).isEqualTo("fast");
    assertThat(governor.blocking().request(any(100)).model()).isEqualTo("small");
  }

  @Test
  void ifNoModelGrantsNow_theShortestWaitIsChosen_andOthersCountNothing() {
    Governor governor = governor();
    governor.blocking().request(TokenRequest.of("slow", 10_000).withPriorityClass(P1));
    governor.blocking().request(TokenRequest.of("fast", 10_000).withPriorityClass(P1));
    assertThat(governor.blocking().explain(any(1_000)).model()).isEqualTo("fast");
    dev.sluice.governor.TokenDecision.Queued first =
        queued(governor.blocking().request(any(1_000)));
    assertThat(first.model()).isEqualTo("fast");
    assertThat(first.eta()).hasValue(Duration.ofMillis(100));
    // The wait at the fast model grows until the slow model has a shorter one.
    for (int i = 0; i < 8; i++) {
      assertThat(governor.blocking().request(any(1_000)).model()).isEqualTo("fast");
    }
    assertThat(governor.blocking().request(any(1_000)).model()).isEqualTo("slow");
    assertThat(asked(governor, "slow")).isEqualTo(2);
    assertThat(asked(governor, "fast")).isEqualTo(10);
    assertThat(asked(governor, "small")).isZero();
  }

  @Test
  void modelWithoutAFreeSlot_hasNoShortestWait() {
    Governor governor =
        governor(
            route(
                models(
                    "full", slow().toBuilder().maxConcurrentRequests(1).build(), "slow", slow())));
    governor.blocking().request(TokenRequest.of("full", 1).withPriorityClass(P1));
    governor.blocking().request(TokenRequest.of("slow", 10_000).withPriorityClass(P1));
    assertThat(governor.blocking().request(any(1_000)).model()).isEqualTo("slow");
  }

  @Test
  void requestBeyondEveryModel_isImpossible() {
    Governor governor = governor();
    impossible(governor.blocking().request(any(10_001)));
    assertThat(governor.blocking().explain(any(10_001)).outcome()).isEqualTo(Outcome.IMPOSSIBLE);
    assertThatThrownBy(
            () -> governor.blocking().request(TokenRequest.of("any", 1).withPriorityClass("P9")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("P9");
  }

  @Test
  void idempotencyKey_findsItsTicket_onAnyModelOfTheRoute() {
    Governor governor = governor();
    governor.blocking().request(TokenRequest.of("slow", 10_000).withPriorityClass(P1));
    governor.blocking().request(TokenRequest.of("fast", 10_000).withPriorityClass(P1));
    TokenRequest request = any(1_000).withIdempotencyKey("k");
    dev.sluice.governor.TokenDecision.Queued place = queued(governor.blocking().request(request));
    advanceMillis(50);
    assertThat(queued(governor.blocking().request(request)).ticket()).isEqualTo(place.ticket());
  }

  @Test
  void concurrentRequestsWithOneIdempotencyKey_areOneRequest() {
    Governor governor = governor();
    TokenRequest crowd = any(50).withIdempotencyKey("crowd");
    List<CompletableFuture<dev.sluice.governor.TokenDecision>> all = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      all.add(CompletableFuture.supplyAsync(() -> governor.blocking().request(crowd)));
    }
    assertThat(new HashSet<>(all.stream().map(BudgetHarness::get).toList())).hasSize(1);
  }
}
