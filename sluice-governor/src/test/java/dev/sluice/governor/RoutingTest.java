package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Among models that are declared equivalent: who can go now, else the shortest wait. */
class RoutingTest {
  private static final String P1 = "P1_user";

  private final VirtualTimer timer = new VirtualTimer();
  private final Governor governor = Governor.create(config(), timer);

  private static BudgetConfig config() {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put("slow", ModelBudget.of(60_000, 10_000, Allocation.OFF));
    models.put("fast", ModelBudget.of(600_000, 10_000, Allocation.OFF));
    models.put("small", ModelBudget.of(600_000, 100, Allocation.OFF));
    return new BudgetConfig(
        models,
        DeskRules.DEFAULTS,
        HealthRules.DEFAULTS,
        Map.of("any", List.of("slow", "fast", "small")),
        List.of());
  }

  @AfterEach
  void close() {
    governor.close();
  }

  private static TokenRequest any(long tokens) {
    return TokenRequest.of("any", tokens, P1);
  }

  @Test
  void whoeverCanGoNow_isTaken_inTheOrderOfTheRoute() {
    assertThat(governor.request(any(10_000)).model()).isEqualTo("slow");
    assertThat(governor.request(any(10_000)).model()).isEqualTo("fast");
    assertThat(governor.request(any(100)).model()).isEqualTo("small");
  }

  @Test
  void ifNobodyCan_theShortestWaitIsTaken_andNothingElseIsCounted() {
    governor.request("slow", 10_000, P1);
    governor.request("fast", 10_000, P1);
    assertThat(governor.explain(any(1_000)).model()).isEqualTo("fast");
    Outcome.Queued first = (Outcome.Queued) governor.request(any(1_000));
    assertThat(first.model()).isEqualTo("fast");
    assertThat(first.etaMs()).isEqualTo(100);
    // The line at the fast one grows until the slow one is nearer.
    for (int i = 0; i < 8; i++) {
      assertThat(governor.request(any(1_000)).model()).isEqualTo("fast");
    }
    assertThat(governor.request(any(1_000)).model()).isEqualTo("slow");
    Map<String, GovernorStatus.Model> buckets = governor.status().buckets();
    assertThat(buckets.get("slow").metrics().totalRequests()).isEqualTo(2);
    assertThat(buckets.get("fast").metrics().totalRequests()).isEqualTo(10);
    assertThat(buckets.get("small").metrics().totalRequests()).isZero();
  }

  @Test
  void eachModelOfARoute_hasItsOwnEstimate() {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put("learns", ModelBudget.of(60, 10_000, Allocation.OFF).withEstimateOutput(true));
    models.put("plain", ModelBudget.of(60_000, 10_000, Allocation.OFF));
    Map<String, List<String>> route = Map.of("any", List.of("learns", "plain"));
    try (Governor other =
        Governor.create(
            new BudgetConfig(models, DeskRules.DEFAULTS, HealthRules.DEFAULTS, route, List.of()),
            timer)) {
      for (int i = 0; i < 30; i++) {
        Outcome.Granted granted = (Outcome.Granted) other.request("learns", 1_000, P1);
        other.settle(granted.reservation(), 100);
        timer.advance(200 * Desk.SECOND);
      }
      other.request("learns", 10_000, P1);
      while (other.request("learns", 1_000, P1) instanceof Outcome.Granted) {
        // Until nothing is left.
      }
      other.request("plain", 10_000, P1);
      Outcome.Queued queued = (Outcome.Queued) other.request(any(1_000));
      assertThat(queued.model()).isEqualTo("plain");
      assertThat(queued.waitMs()).isEqualTo(1_000);
    }
  }

  @Test
  void modelWithoutAFreeSlot_isNotTheNearest() {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put("full", ModelBudget.of(60_000, 10_000, Allocation.OFF).withConcurrency(1));
    models.put("slow", ModelBudget.of(60_000, 10_000, Allocation.OFF));
    Map<String, List<String>> route = Map.of("any", List.of("full", "slow"));
    try (Governor other =
        Governor.create(
            new BudgetConfig(models, DeskRules.DEFAULTS, HealthRules.DEFAULTS, route, List.of()),
            new VirtualTimer())) {
      other.request("full", 1, P1);
      other.request("slow", 10_000, P1);
      assertThat(other.request(any(1_000)).model()).isEqualTo("slow");
    }
  }

  @Test
  void whatNoneCanEverGrant_isRefused() {
    assertThat(governor.request(any(10_001))).isInstanceOf(Outcome.Refused.class);
    assertThat(governor.explain(any(10_001)).verdict()).isEqualTo(Explanation.Verdict.REFUSED);
    assertThatThrownBy(() -> governor.request(TokenRequest.of("any", 1, "P9")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("P9");
  }

  @Test
  void idempotencyKey_findsItsPlace_whereverItIs() throws Exception {
    governor.request("slow", 10_000, P1);
    governor.request("fast", 10_000, P1);
    TokenRequest request = any(1_000).withIdempotencyKey("k");
    Outcome.Queued place = (Outcome.Queued) governor.request(request);
    timer.advance(50 * Desk.MS);
    assertThat(((Outcome.Queued) governor.request(request)).ticket()).isEqualTo(place.ticket());

    // Many at once are one.
    TokenRequest crowd = any(50).withIdempotencyKey("crowd");
    Set<Outcome> answers = ConcurrentHashMap.newKeySet();
    CountDownLatch done = new CountDownLatch(8);
    for (int i = 0; i < 8; i++) {
      new Thread(
              () -> {
                answers.add(governor.request(crowd));
                done.countDown();
              })
          .start();
    }
    done.await();
    assertThat(answers).hasSize(1);
  }
}
