package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Contract of the answers of every budget store, over all dimensions. A subclass says how one is
 * made.
 *
 * @since 0.1
 */
public abstract class BudgetContract extends BudgetSuite {
  private static final ModelBudget.TenantBudget SMALL =
      new ModelBudget.TenantBudget(Limit.perMinute(600, 1_000), 1);

  // ---- answers

  @Test
  void model_startsFull_andFillsAtItsRate() {
    BudgetHarness rig = open(SeedBudget.budget(60_000, 5_000).build());
    assertThat(rig.available()).isEqualTo(5_000);
    assertThat(rig.granted(5_000, P1).remaining()).isZero();
    advance(Duration.ofMillis(1).minus(TICK));
    assertThat(rig.available()).isZero();
    advance(TICK);
    assertThat(rig.available()).isEqualTo(1);
    advance(SECOND);
    assertThat(rig.available()).isEqualTo(1_001);
    advance(MINUTE);
    assertThat(rig.available()).isEqualTo(5_000);
  }

  @Test
  void request_withinTheLevel_isGranted() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted granted = rig.granted(1_000, P1);
    assertThat(granted)
        .isEqualTo(
            new TokenDecision.Granted(MODEL, P1, 1_000, 299_000, 1_000, granted.reservation()));
    assertThat(rig.granted(1_000, P1).reservation()).isNotEqualTo(granted.reservation());
    assertThat(rig.status().running()).isEqualTo(2);
  }

  @Test
  void request_beyondTheLevel_isQueued() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(299_000, P1);
    TokenDecision.Queued queued = rig.queued(3_000, P1);
    assertThat(queued)
        .isEqualTo(
            new TokenDecision.Queued(
                MODEL,
                P1,
                3_000,
                1_000,
                Optional.of(Duration.ofMillis(500)),
                1,
                Optional.of(Duration.ofMillis(500)),
                BudgetDimension.TOKENS,
                queued.ticket()));
    assertThat(rig.queued(3_000, P1).ticket()).isNotEqualTo(queued.ticket());
    assertThat(rig.status().running()).isEqualTo(1);
  }

  @Test
  void request_beyondTheCapacity_isImpossible() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(1_000, P1);
    TokenDecision.Impossible refused = impossible(rig.ask(300_001, P1));
    assertThat(refused.model()).isEqualTo(MODEL);
    assertThat(refused.priorityClass()).isEqualTo(P1);
    assertThat(refused.tokens()).isEqualTo(300_001);
    assertThat(refused.remaining()).isEqualTo(299_000);
    assertThat(refused.message()).contains("300000").contains("300001");
  }

  @Test
  void queuePositionAndEta_countAllClasses_andFollowTheWaitingList() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    TokenDecision.Queued batch = rig.queued(4_000, P2);
    TokenDecision.Queued user = rig.queued(2_000, P1);
    TokenDecision.Queued urgent = rig.queued(8_000, P0);
    assertThat(List.of(batch, user, urgent))
        .extracting(TokenDecision.Queued::queuePosition)
        .containsExactly(1, 1, 1);
    assertThat(List.of(rig.standing(urgent), rig.standing(user), rig.standing(batch)))
        .extracting(TokenDecision.Queued::queuePosition)
        .containsExactly(1, 2, 3);
    assertThat(List.of(rig.standing(urgent), rig.standing(user), rig.standing(batch)))
        .extracting(each -> each.retryAfter().orElseThrow().toMillis())
        .containsExactly(2_000L, 500L, 1_000L);
    assertThat(List.of(rig.standing(urgent), rig.standing(user), rig.standing(batch)))
        .extracting(each -> each.eta().orElseThrow().toMillis())
        .containsExactly(2_000L, 2_500L, 3_500L);
    assertThat(rig.cancel(user)).isTrue();
    assertThat(rig.standing(batch).queuePosition()).isEqualTo(2);
    assertThat(rig.standing(batch).eta()).hasValue(Duration.ofSeconds(3));
    advanceMillis(1_999);
    assertThat(rig.standing(urgent).eta()).hasValue(Duration.ofMillis(1));
    assertThat(rig.standing(batch).eta()).hasValue(Duration.ofMillis(1_001));
  }

  @Test
  void expectedTokens_areReservedInstead() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted granted = rig.granted(request(10_000, P1).withExpectedTokens(7_500));
    assertThat(granted.tokens()).isEqualTo(7_500);
    assertThat(granted.requestedTokens()).isEqualTo(10_000);
    assertThat(rig.settle(granted, 8_000))
        .contains(TokenSettlement.of(MODEL, "", 10_000, 7_500, 8_000, -500));
    // The reserved tokens, not the requested ones, must fit.
    rig.granted(request(400_000, P1).withExpectedTokens(250_000));
    assertThat(rig.available()).isEqualTo(42_000);
  }

  @Test
  void expectedTokens_lowerAReservationToHalfAtMost() {
    BudgetHarness rig = open(SeedBudget.budget(60_000, 60_000).build());
    assertThat(rig.granted(request(9, P1).withExpectedTokens(1)).tokens()).isEqualTo(5);
    assertThat(rig.granted(request(20_000, P1).withExpectedTokens(1)).tokens()).isEqualTo(10_000);
    // 50 of these were admitted at once.
    rig.granted(request(60_000, P1).withExpectedTokens(1));
    assertThat(rig.queued(request(60_000, P1).withExpectedTokens(1)).retryAfter())
        .hasValue(Duration.ofMillis(10_005));
  }

  // ---- shares of classes

  @Test
  void ceiling_keepsTheRestForTheClassesAbove() {
    BudgetHarness rig = open(Allocation.CEILING);
    rig.granted(120_000, P2);
    TokenDecision.Queued batch = rig.queued(4_000, P2);
    assertThat(batch.binding()).isEqualTo(BudgetDimension.PRIORITY_CLASS);
    assertThat(batch.retryAfter()).hasValue(Duration.ofSeconds(1));
    rig.granted(90_000, P1);
    assertThat(rig.queued(4_000, P1).binding()).isEqualTo(BudgetDimension.PRIORITY_CLASS);
    assertThat(rig.granted(90_000, P0).remaining()).isZero();
    assertThat(rig.queued(4_000, P0).binding()).isEqualTo(BudgetDimension.TOKENS);
  }

  @Test
  void ceiling_grantsAClass_onceUsageIsBelowItsShare() {
    BudgetHarness rig = open(Allocation.CEILING);
    rig.granted(200_000, P1);
    TokenDecision.Queued batch = rig.queued(50_000, P2);
    assertThat(batch.retryAfter()).hasValue(Duration.ofMillis(32_500));
    assertThat(batch.eta()).hasValue(Duration.ofMillis(32_500));
    advance(Duration.ofMillis(32_500).minus(TICK));
    assertThat(rig.isWaiting(batch)).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(batch)).isTrue();
    assertThat(rig.available()).isEqualTo(180_000);
  }

  @Test
  void scale_reservesTheClassShareOfARequest_alsoFromTheWaitingList() {
    BudgetHarness rig = open(Allocation.SCALE);
    // Its whole share of the requested tokens must fit.
    assertThat(rig.granted(750_000, P2).tokens()).isEqualTo(300_000);
    TokenDecision.Queued queued = rig.queued(10_000, P1);
    assertThat(queued.tokens()).isEqualTo(10_000);
    assertThat(queued.retryAfter()).hasValue(Duration.ofMillis(1_750));
    advanceMillis(1_750);
    TokenDecision.Granted granted = granted(rig.poll(queued).orElseThrow());
    assertThat(granted.tokens()).isEqualTo(7_000);
    assertThat(granted.requestedTokens()).isEqualTo(10_000);
    impossible(rig.ask(750_003, P2));
  }

  @Test
  void off_lowestClassGetsTheWholeBurst() {
    BudgetHarness rig = open(Allocation.OFF);
    assertThat(rig.granted(300_000, P2).remaining()).isZero();
  }

  // ---- dimensions

  @Test
  void requestsPerSecond_areLimited() {
    BudgetHarness rig =
        open(sonnet(Allocation.OFF).toBuilder().requests(Limit.perSecond(2)).build());
    rig.granted(1, P0);
    rig.granted(1, P0);
    TokenDecision.Queued third = rig.queued(1, P0);
    TokenDecision.Queued fourth = rig.queued(1, P0);
    assertThat(third.binding()).isEqualTo(BudgetDimension.REQUESTS);
    assertThat(third.retryAfter()).hasValue(Duration.ofMillis(500));
    assertThat(fourth.retryAfter()).hasValue(Duration.ofMillis(500));
    assertThat(fourth.eta()).hasValue(Duration.ofSeconds(1));
    advance(Duration.ofMillis(500).minus(TICK));
    assertThat(rig.isWaiting(third)).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(third)).isTrue();
    assertThat(rig.isWaiting(fourth)).isTrue();
    advanceMillis(500);
    assertThat(rig.isGranted(fourth)).isTrue();
  }

  @Test
  void requestsPerMinute_areLimitedToo() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .requests(Limit.perSecond(2), Limit.perMinute(3))
                .build());
    rig.granted(1, P0);
    rig.granted(1, P0);
    advance(SECOND);
    rig.granted(1, P0);
    TokenDecision.Queued queued = rig.queued(1, P0);
    assertThat(queued.binding()).isEqualTo(BudgetDimension.REQUESTS);
    assertThat(queued.retryAfter()).hasValue(Duration.ofSeconds(19));
    advanceMillis(19_000);
    assertThat(rig.isGranted(queued)).isTrue();
  }

  @Test
  void concurrentRequests_areLimited_untilOneIsSettled() {
    BudgetHarness rig = open(sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(2).build());
    TokenDecision.Granted first = rig.granted(1_000, P0);
    rig.granted(1_000, P0);
    TokenDecision.Queued third = rig.queued(1_000, P0);
    assertThat(third.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    advance(MINUTE);
    assertThat(rig.isWaiting(third)).isTrue();
    rig.settle(first, 1_000);
    assertThat(rig.isGranted(third)).isTrue();
    assertThat(rig.status().running()).isEqualTo(2);
  }

  @Test
  void requestHeldByOneDimension_takesNothingOfTheOthers() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .maxConcurrentRequests(1)
                .requests(Limit.perMinute(3))
                .tenants(Map.of("t", new ModelBudget.TenantBudget(Limit.perMinute(600, 1_000), 1)))
                .build());
    TokenDecision.Granted running = rig.granted(1, P0);
    TokenDecision.Queued held = rig.queued(request(1_000, P0).withTenant("t"));
    assertThat(rig.available()).isEqualTo(299_999);
    assertThat(rig.cancel(held)).isTrue();
    rig.settle(running, 1);
    for (int i = 0; i < 2; i++) {
      rig.settle(rig.granted(request(500, P0).withTenant("t")), 500);
    }
    assertThat(rig.queued(1, P0).binding()).isEqualTo(BudgetDimension.REQUESTS);
  }

  @Test
  void tenant_hasABudgetWithinTheModels() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .tenants(
                    Map.of(
                        "t",
                        new ModelBudget.TenantBudget(Limit.perMinute(6_000, 10_000), 1),
                        "*",
                        SMALL))
                .build());
    rig.granted(request(10_000, P0).withTenant("t"));
    TokenDecision.Queued held = rig.queued(request(100, P0).withTenant("t"));
    assertThat(held.binding()).isEqualTo(BudgetDimension.TENANT);
    assertThat(held.retryAfter()).hasValue(Duration.ofSeconds(1));
    impossible(rig.ask(request(10_001, P0).withTenant("t")));
    // Each of the others has the same, and for itself.
    rig.granted(request(1_000, P0).withTenant("one"));
    rig.granted(request(1_000, P0).withTenant("other"));
    assertThat(rig.queued(request(1, P0).withTenant("one")).retryAfter())
        .hasValue(Duration.ofMillis(100));
    advance(SECOND.minus(TICK));
    assertThat(rig.isWaiting(held)).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(held)).isTrue();
  }

  @Test
  void models_shareNeitherTokensNorWaitingList() {
    ModelBudget budget = sonnet(Allocation.OFF);
    BudgetHarness rig =
        open(
            config(
                models(MODEL, budget.toBuilder().maxConcurrentRequests(1).build(), "other", budget),
                PATIENT));
    rig.granted(300_000, P0);
    rig.queued(1, P0);
    assertThat(rig.granted(request(300_000, P1).withModel("other")).model()).isEqualTo("other");
    assertThat(rig.queued(request(1, P1).withModel("other")).queuePosition()).isEqualTo(1);
    assertThat(BudgetHarness.get(rig.store.status()).models().keySet())
        .containsExactly(MODEL, "other");
  }

  // ---- bad input

  @Test
  void unknownModelOrClass_isAnError_andChangesNothing() {
    BudgetHarness rig = open(Allocation.OFF);
    requireUnknown(rig, request(1, P1).withModel("gpt"), MODEL, "gpt");
    requireUnknown(rig, request(1, "P9"), P0, "P9");
    requireUnknown(rig, request(1, "p0_clinical"), P0, "p0_clinical");
    assertThat(rig.status().counts().totalRequests()).isZero();
    assertThat(rig.available()).isEqualTo(300_000);
  }

  /** The error names the known and the requested name. */
  private static void requireUnknown(
      BudgetHarness rig, TokenRequest bad, String known, String name) {
    List<CompletableFuture<?>> answers =
        List.of(rig.store.request(bad), rig.store.tryAcquire(bad), rig.store.explain(bad));
    for (CompletableFuture<?> answer : answers) {
      assertThatThrownBy(() -> BudgetHarness.get(answer))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(known)
          .hasMessageContaining(name);
    }
  }

  @Test
  void hugeRequest_isImpossibleOrRejected_andChangesNothing() {
    BudgetHarness rig = open(Allocation.CEILING);
    for (long huge : new long[] {210_001, TokenRequest.MAX_TOKENS}) {
      impossible(rig.ask(huge, P1));
    }
    for (long more : new long[] {TokenRequest.MAX_TOKENS + 1, 1L << 53, Long.MAX_VALUE}) {
      assertThatThrownBy(() -> request(more, P1).withExpectedTokens(1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("tokens must be at most 1000000000000, but was " + more);
    }
    assertThat(rig.available()).isEqualTo(300_000);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
  }
}
