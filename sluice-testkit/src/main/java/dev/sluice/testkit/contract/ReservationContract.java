package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Contract of grants, and of budgets when a provider or a new configuration changes them.
 *
 * @since 0.1
 */
public abstract class ReservationContract extends BudgetSuite {
  private static final Duration LIFE = Duration.ofMinutes(10);

  /** The reservations that may be open where concurrency is not limited. */
  private static final int MOST_OPEN = 100_000;

  private static final int PORTION = 500;

  @Test
  void settle_refundsUnusedTokens_once() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted granted = rig.granted(request(10_000, P1).withTenant("t"));
    assertThat(rig.settle(granted, 4_000))
        .contains(TokenSettlement.of(MODEL, "t", 10_000, 10_000, 4_000, 6_000));
    assertThat(rig.settle(granted, 4_000)).isEmpty();
    assertThat(rig.available()).isEqualTo(296_000);
    assertThat(rig.status().running()).isZero();
    assertThat(rig.status().counts().tokensConsumed()).isEqualTo(4_000);
  }

  @Test
  void settle_chargesTokensUsedBeyondTheReservation() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted granted = rig.granted(1_000, P1);
    assertThat(rig.settle(granted, 1_500))
        .contains(TokenSettlement.of(MODEL, "", 1_000, 1_000, 1_500, -500));
    assertThat(rig.available()).isEqualTo(298_500);
    assertThat(rig.status().counts().tokensConsumed()).isEqualTo(1_500);
  }

  @Test
  void settle_ofUsageOutOfRange_isRefused() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted granted = rig.granted(1_000, P1);
    for (long bad : new long[] {-1, Long.MIN_VALUE, 1_000_000_000_001L, Long.MAX_VALUE}) {
      assertThatThrownBy(() -> rig.settle(granted, bad))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(String.valueOf(bad));
    }
    assertThat(rig.settle(granted, 0)).isPresent();
  }

  @Test
  void overuse_leavesDebt_thatRefillsPay() {
    BudgetHarness rig = open(sonnet(Allocation.OFF).toBuilder().maxContextTokens(304_000).build());
    rig.settle(rig.granted(300_000, P0), 304_000);
    assertThat(rig.available()).isEqualTo(-4_000);
    TokenDecision.Queued next = rig.queued(4_000, P0);
    assertThat(next.remaining()).isEqualTo(-4_000);
    assertThat(next.retryAfter()).hasValue(Duration.ofSeconds(2));
    advance(Duration.ofSeconds(2).minus(TICK));
    assertThat(rig.isWaiting(next)).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(next)).isTrue();
  }

  // ---- refunds

  /** A plain refund let 540,000 through in one second, where 304,000 are legal. */
  @Test
  void lateRefund_admitsNoTokenBeyondTheLimit() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(240_000, P0);
    advance(MINUTE);
    rig.granted(300_000, P0);
    assertThat(rig.settle(first, 0).orElseThrow().refundedTokens()).isZero();
    assertThat(rig.available()).isZero();
    advance(SECOND);
    assertThat(rig.available()).isEqualTo(4_000);
  }

  @Test
  void refund_returnsNoMoreThanTheBucketOwes() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(10_000, P0);
    TokenDecision.Granted second = rig.granted(20_000, P0);
    assertThat(rig.settle(first, 4_000).orElseThrow().refundedTokens()).isEqualTo(6_000);
    assertThat(rig.available()).isEqualTo(276_000);
    assertThat(rig.settle(second, 0).orElseThrow().refundedTokens()).isEqualTo(20_000);
    assertThat(rig.available()).isEqualTo(296_000);
    // Of 12,000 that were owed, refills have paid all but 4,000.
    TokenDecision.Granted third = rig.granted(8_000, P0);
    advanceMillis(2_000);
    assertThat(rig.settle(third, 0).orElseThrow().refundedTokens()).isEqualTo(4_000);
    assertThat(rig.available()).isEqualTo(300_000);
  }

  @Test
  void refund_isNoMoreThanTheLeastDebtAtAnyGrantSince() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(40_000, P0);
    advanceMillis(9_000);
    // 4,000 were owed at the later grant: only these can still be refunded.
    rig.granted(100_000, P0);
    assertThat(rig.settle(first, 0).orElseThrow().refundedTokens()).isEqualTo(4_000);
    assertThat(rig.available()).isEqualTo(200_000);
  }

  /** A store may shorten the history of its debt; a refund must not become larger by that. */
  @Test
  void refund_afterManyGrants_isNoMoreThanTheLeastDebtSince() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(100_000, P0);
    advance(Duration.ofSeconds(24));
    // 4,000 are owed.
    TokenDecision.Granted second = rig.granted(50_000, P0);
    advance(Duration.ofSeconds(12));
    // 6,000 are owed.
    for (int i = 0; i < 130; i++) {
      rig.granted(100, P0);
    }
    assertThat(rig.settle(second, 0).orElseThrow().refundedTokens()).isBetween(1L, 6_000L);
  }

  @Test
  void twoLateRefunds_returnTheRemainingDebtOnce() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(40_000, P0);
    TokenDecision.Granted second = rig.granted(40_000, P0);
    advanceMillis(15_000);
    // 20,000 are still owed.
    rig.granted(280_000, P0);
    long back =
        rig.settle(first, 0).orElseThrow().refundedTokens()
            + rig.settle(second, 0).orElseThrow().refundedTokens();
    assertThat(back).isEqualTo(20_000);
    assertThat(rig.available()).isEqualTo(20_000);
  }

  /** A store may have a faster path for models without tenant budgets. */
  @Test
  void twoLateRefunds_underABudgetOfATenant_returnTheRemainingDebtOnce() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .tenants(
                    Map.of("*", new ModelBudget.TenantBudget(Limit.perMinute(240_000, 300_000), 1)))
                .build());
    TokenRequest request = request(40_000, P0).withTenant("t");
    TokenDecision.Granted first = rig.granted(request);
    TokenDecision.Granted second = rig.granted(request);
    advanceMillis(15_000);
    // The model and the tenant still owe 20,000.
    rig.granted(request(280_000, P0).withTenant("t"));
    assertThat(rig.settle(first, 0).orElseThrow().refundedTokens()).isEqualTo(20_000);
    assertThat(rig.settle(second, 0).orElseThrow().refundedTokens()).isZero();
    assertThat(rig.available()).isEqualTo(20_000);
    rig.granted(request(20_000, P0).withTenant("t"));
    assertThat(rig.available()).isZero();
  }

  /** A store may forget a tenant only once its budget is full again. */
  @Test
  void debtOfATenant_isKeptUntilItIsPaid() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .tenants(Map.of("*", new ModelBudget.TenantBudget(Limit.perMinute(60, 10_000), 1)))
                .build());
    rig.granted(request(100, P1).withTenant("t"));
    advance(MINUTE);
    assertThat(ofTenant(rig, "t")).isEqualTo(9_960);
    advance(Duration.ofSeconds(39));
    assertThat(ofTenant(rig, "t")).isEqualTo(9_999);
    advance(Duration.ofSeconds(2));
    assertThat(ofTenant(rig, "t")).isEqualTo(10_000);
  }

  @Test
  void refund_creditsTheTenantToo_andGrantsWaiters() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .tenants(Map.of("t", new ModelBudget.TenantBudget(Limit.perMinute(60, 10_000), 1)))
                .build());
    TokenDecision.Granted first = rig.granted(request(10_000, P1).withTenant("t"));
    CompletableFuture<Optional<TokenDecision>> next =
        rig.waiter(request(5_000, P1).withTenant("t"));
    assertThat(next).isNotDone();
    rig.settle(first, 5_000);
    assertThat(BudgetHarness.grantOf(next).tokens()).isEqualTo(5_000);
    assertThat(rig.available()).isEqualTo(290_000);
  }

  // ---- the life of a reservation

  @Test
  void reservationOfACrashedCaller_freesItsSlot_keepsItsTokens() {
    BudgetHarness rig = open(SeedBudget.budget(60, 10_000).maxConcurrentRequests(1).build());
    TokenDecision.Granted first = rig.granted(9_000, P1);
    TokenDecision.Queued next = rig.queued(1_000, P1);
    advance(LIFE.minus(TICK));
    assertThat(rig.isWaiting(next)).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(next)).isTrue();
    // 10,000 were granted, and 600 accrued.
    assertThat(rig.available()).isEqualTo(600);
    assertThat(rig.status().running()).isEqualTo(1);
    assertThat(rig.extend(first)).isFalse();
    assertThat(rig.settle(first, 0)).isEmpty();
    assertThat(rig.available()).isEqualTo(600);
  }

  /** Callers who never settle must not fill the memory of a store. */
  @Test
  void reservationsWithoutConcurrency_areBounded() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted last = openAll(rig, MOST_OPEN);
    TokenDecision.Queued next = rig.queued(1, P0);
    assertThat(next.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    assertThat(rig.status().running()).isEqualTo(MOST_OPEN);
    assertThat(rig.isWaiting(next)).isTrue();
    assertThat(rig.settle(last, 1)).isPresent();
    assertThat(rig.isGranted(next)).isTrue();
    assertThat(rig.status().running()).isEqualTo(MOST_OPEN);
  }

  /** Opens {@code count} reservations of one token, in portions that a store answers in time. */
  private static TokenDecision.Granted openAll(BudgetHarness rig, int count) {
    TokenDecision.Granted last = null;
    for (int opened = 0; opened < count; opened += PORTION) {
      List<CompletableFuture<TokenDecision>> portion =
          Stream.generate(() -> rig.store.request(request(1, P0))).limit(PORTION).toList();
      for (CompletableFuture<TokenDecision> each : portion) {
        last = granted(BudgetHarness.get(each));
      }
    }
    return Objects.requireNonNull(last);
  }

  @Test
  void extendedReservation_lastsOneMoreTimeout() {
    BudgetHarness rig = open(sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build());
    TokenDecision.Granted first = rig.granted(1_000, P1);
    CompletableFuture<Optional<TokenDecision>> next = rig.waiter(request(1_000, P1));
    advance(LIFE.minus(MINUTE));
    assertThat(rig.extend(first)).isTrue();
    advance(LIFE.minus(TICK));
    assertThat(next).isNotDone();
    advance(TICK);
    assertThat(BudgetHarness.grantOf(next).tokens()).isEqualTo(1_000);
  }

  @Test
  void expiredReservation_freesItsIdempotencyKey() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(request(1_000, P1).withIdempotencyKey("k"));
    advance(LIFE);
    assertThat(rig.granted(request(1_000, P1).withIdempotencyKey("k")).reservation())
        .isNotEqualTo(first.reservation());
  }

  // ---- the provider

  @Test
  void pause_delaysAllRequests_untilItEnds() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.adjust(1, null, Duration.ofSeconds(2));
    TokenDecision.Queued queued = rig.queued(1_000, P0);
    assertThat(queued.binding()).isEqualTo(BudgetDimension.PROVIDER);
    assertThat(queued.retryAfter()).hasValue(Duration.ofSeconds(2));
    assertThat(queued.eta()).hasValue(Duration.ofSeconds(2));
    assertThat(rig.explain(request(1, P0)).dimensions())
        .contains(part(BudgetDimension.PROVIDER, 1, 0, 1, 2_000));
    CompletableFuture<Optional<TokenDecision>> outcome = rig.store.await(queued.ticket());
    // A shorter one does not end it.
    rig.adjust(1, null, SECOND);
    advance(Duration.ofSeconds(2).minus(TICK));
    assertThat(outcome).isNotDone();
    advance(TICK);
    BudgetHarness.grantOf(outcome);
  }

  @Test
  void factor_slowsTheModel_untilItIsReset() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    rig.adjust(0.5, null, Duration.ZERO);
    advanceMillis(10_000);
    // The capacity and the rate are halved: 150,000, and 2,000 a second.
    assertThat(rig.available()).isEqualTo(150_000 - 280_000);
    assertThat(rig.queued(1_000, P0).retryAfter()).hasValue(Duration.ofMillis(65_500));
    rig.adjust(1, 15_000L, Duration.ZERO);
    assertThat(rig.available()).isEqualTo(14_000);
  }

  @Test
  void requestLargerThanASlowedModelHolds_isGrantedWhenTheModelIsFull() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.adjust(0.1, null, Duration.ZERO);
    rig.granted(200_000, P1);
    TokenDecision.Queued next = rig.queued(200_000, P1);
    assertThat(next.retryAfter()).hasValue(Duration.ofSeconds(500));
    CompletableFuture<Optional<TokenDecision>> outcome = rig.store.await(next.ticket());
    advance(Duration.ofSeconds(500).minus(TICK));
    assertThat(outcome).isNotDone();
    advance(TICK);
    BudgetHarness.grantOf(outcome);
  }

  @Test
  void tokensAtMost_neverRaisesTheLevel() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(100_000, P1);
    rig.adjust(1, 250_000L, Duration.ZERO);
    assertThat(rig.available()).isEqualTo(200_000);
    rig.adjust(1, 10_000L, Duration.ZERO);
    assertThat(rig.available()).isEqualTo(10_000);
    rig.adjust(1, 0L, Duration.ZERO);
    assertThat(rig.queued(4_000, P1).retryAfter()).hasValue(Duration.ofSeconds(1));
    assertThatThrownBy(
            () ->
                BudgetHarness.get(
                    rig.store.adjust("gpt", new ProviderAdjustment(1, null, Duration.ZERO))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("gpt");
  }
}
