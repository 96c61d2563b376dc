package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenExplanation.Outcome;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/**
 * Contract of forecasts without effect, of the status and of what a listener receives.
 *
 * @since 0.1
 */
public abstract class ExplanationContract extends BudgetSuite {
  @Test
  void explain_predictsTheDecision_andChangesNothing() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenExplanation free = rig.explain(request(1_000, P1));
    assertThat(free.outcome()).isEqualTo(Outcome.GRANTED);
    assertThat(free.binding()).isEqualTo(BudgetDimension.NONE);
    rig.granted(298_000, P0);
    rig.queued(10_000, P0);
    GovernorStatus.Model before = rig.status();
    TokenExplanation waits = rig.explain(request(4_000, P2));
    assertThat(waits.outcome()).isEqualTo(Outcome.QUEUED);
    assertThat(waits.binding()).isEqualTo(BudgetDimension.TOKENS);
    assertThat(waits.queuePosition()).isEqualTo(2);
    assertThat(waits.retryAfter()).hasValue(Duration.ofMillis(500));
    assertThat(waits.eta()).hasValue(Duration.ofSeconds(3));
    assertThat(waits.dimensions())
        .containsExactly(part(BudgetDimension.TOKENS, 300_000, 2_000, 4_000, 500));
    TokenExplanation behind = rig.explain(request(1_000, P1));
    assertThat(behind.binding()).isEqualTo(BudgetDimension.WAITING_LIST);
    assertThat(behind.retryAfter()).hasValue(Duration.ofMillis(0));
    assertThat(rig.explain(request(300_001, P1)).outcome()).isEqualTo(Outcome.IMPOSSIBLE);
    assertThat(rig.status().counts()).isEqualTo(before.counts());
    assertThat(rig.line()).isEqualTo(before.queueLengths());
  }

  @Test
  void explain_namesEveryDimension() {
    BudgetHarness rig =
        open(
            SeedBudget.budget(60_000, 10_000)
                .allocation(Allocation.CEILING)
                .priorityClasses(SeedBudget.CLASSES)
                .requests(Limit.perSecond(1), Limit.perMinute(10))
                .maxConcurrentRequests(1)
                .tenants(Map.of("t", new ModelBudget.TenantBudget(Limit.perMinute(600, 500), 1)))
                .build());
    rig.granted(request(400, P1).withTenant("t"));
    TokenExplanation explained = rig.explain(request(400, P2).withTenant("t"));
    // Time alone frees no slot, so the wait is unknown.
    assertThat(explained.dimensions())
        .containsExactly(
            part(BudgetDimension.TOKENS, 10_000, 9_600, 400, 0),
            part(BudgetDimension.PRIORITY_CLASS, 4_000, 3_600, 400, 0),
            part(BudgetDimension.TENANT, 500, 100, 400, 30_000),
            part(BudgetDimension.REQUESTS, 1, 0, 1, 1_000),
            part(BudgetDimension.REQUESTS, 10, 9, 1, 0),
            new TokenExplanation.DimensionStatus(
                BudgetDimension.CONCURRENCY, 1, 0, 1, Optional.empty()));
    assertThat(explained.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
  }

  @Test
  void tryAcquire_isGranted_orChangesNothing() {
    BudgetHarness rig = open(Allocation.OFF);
    assertThat(BudgetHarness.get(rig.store.tryAcquire(request(300_000, P1))))
        .containsInstanceOf(TokenDecision.Granted.class);
    assertThat(BudgetHarness.get(rig.store.tryAcquire(request(1, P1)))).isEmpty();
    assertThat(BudgetHarness.get(rig.store.tryAcquire(request(300_001, P1)))).isEmpty();
    assertThat(rig.status().counts().totalRequests()).isEqualTo(1);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
  }

  @Test
  void find_returnsAnEarlierOutcome_andCountsNoRequest() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenRequest keyed = request(1_000, P1).withIdempotencyKey("k");
    assertThat(BudgetHarness.get(rig.store.find(keyed))).isEmpty();
    assertThat(BudgetHarness.get(rig.store.find(request(1_000, P1)))).isEmpty();
    assertThat(rig.status().counts().totalRequests()).isZero();
    Optional<TokenDecision> granted = Optional.of(rig.granted(keyed));
    assertThat(BudgetHarness.get(rig.store.find(keyed))).isEqualTo(granted);
    assertThat(BudgetHarness.get(rig.store.tryAcquire(keyed))).isEqualTo(granted);
    assertThat(BudgetHarness.get(rig.store.find(keyed.withTenant("other")))).isEmpty();
    assertThat(rig.status().counts().totalRequests()).isEqualTo(1);
  }

  // ---- status and events

  @Test
  void status_hasTheFiguresOfTheModel() {
    BudgetHarness rig = open(Allocation.CEILING);
    rig.granted(100_000, P1);
    rig.granted(50_000, P1);
    rig.queued(100_000, P1);
    rig.queued(1_000, P2);
    advanceMillis(500);
    GovernorStatus.Model status = rig.status();
    assertThat(status.model()).isEqualTo(MODEL);
    assertThat(status.capacity()).isEqualTo(300_000);
    assertThat(status.available()).isEqualTo(152_000);
    assertThat(status.targetTpm()).isEqualTo(240_000);
    assertThat(status.running()).isEqualTo(2);
    assertThat(status.queueLengths()).isEqualTo(Map.of(P0, 0, P1, 1, P2, 1));
    assertThat(status.queueLengths().keySet()).containsExactly(P0, P1, P2);
  }

  @Test
  void counts_coverRequestsAndChargedTokens() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(300_000, P0);
    CompletableFuture<Optional<TokenDecision>> waited = rig.waiter(request(100_000, P1));
    advanceMillis(10_000);
    impossible(rig.ask(400_000, P1));
    advanceMillis(15_000);
    BudgetHarness.grantOf(waited);
    GovernorStatus.Counts counts = rig.status().counts();
    assertThat(counts.totalRequests()).isEqualTo(3);
    assertThat(counts.acceptedRequests()).isEqualTo(1);
    assertThat(counts.rejectedRequests()).isEqualTo(2);
    assertThat(counts.tokensConsumed()).isEqualTo(400_000);
    assertThat(counts.refillCount()).isPositive();
    rig.settle(first, 250_000);
    assertThat(rig.status().counts().tokensConsumed()).isEqualTo(350_000);
  }

  @Test
  void listener_receivesRequestsGrantsAndSettlements() {
    List<String> told = new CopyOnWriteArrayList<>();
    BudgetHarness rig = open(config(sonnet(Allocation.OFF)), new Told(told));
    long start = fixture().nanos();
    TokenDecision.Granted first = rig.granted(300_000, P0);
    CompletableFuture<Optional<TokenDecision>> waiter = rig.waiter(request(4_000, P1));
    advance(SECOND);
    BudgetHarness.grantOf(waiter);
    rig.settle(first, 299_000);
    long end = fixture().nanos();
    assertThat(end - start).isEqualTo(SECOND.toNanos());
    assertThat(told)
        .containsExactlyInAnyOrder(
            "asked 300000 Granted " + start,
            "granted 300000 0 " + start,
            "asked 4000 Queued " + start,
            "granted 4000 1000000000 " + end,
            "settled 1000 " + start + " " + end);
  }

  /** Returns the events in words, without refills, which any call may find. */
  private record Told(List<String> words) implements BudgetListener {
    @Override
    public void requested(TokenRequest request, TokenDecision outcome, long nanos) {
      words.add(
          "asked %d %s %d".formatted(request.tokens(), outcome.getClass().getSimpleName(), nanos));
    }

    @Override
    public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
      words.add("granted %d %d %d".formatted(tokens, waitedNanos, nanos));
    }

    @Override
    public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
      words.add("settled %d %d %d".formatted(settled.refundedTokens(), grantedNanos, nanos));
    }
  }
}
