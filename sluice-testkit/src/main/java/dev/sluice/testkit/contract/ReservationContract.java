package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.LinkedHashMap;
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
  void settle_refundsWhatWasNotUsed_once() {
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
  void settle_chargesWhatWasUsedBeyond() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted granted = rig.granted(1_000, P1);
    assertThat(rig.settle(granted, 1_500))
        .contains(TokenSettlement.of(MODEL, "", 1_000, 1_000, 1_500, -500));
    assertThat(rig.available()).isEqualTo(298_500);
    assertThat(rig.status().counts().tokensConsumed()).isEqualTo(1_500);
  }

  @Test
  void settle_ofWhatNobodyUses_isRefused() {
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
  void overuse_isDebtThatTimePays() {
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
  void lateRefund_admitsNotOneTokenBeyondTheLimit() {
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
  void refund_isWholeWhileTheBucketStillOwesIt() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(10_000, P0);
    TokenDecision.Granted second = rig.granted(20_000, P0);
    assertThat(rig.settle(first, 4_000).orElseThrow().refundedTokens()).isEqualTo(6_000);
    assertThat(rig.available()).isEqualTo(276_000);
    assertThat(rig.settle(second, 0).orElseThrow().refundedTokens()).isEqualTo(20_000);
    assertThat(rig.available()).isEqualTo(296_000);
    // Of 12,000 that are owed, all but 4,000 have come back by themselves.
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
    // 4,000 are owed when others are granted theirs: the rest was theirs to take.
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
  void twoLateRefunds_doNotGiveTheSameBackTwice() {
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
  void twoLateRefunds_underABudgetOfATenant_doNotGiveTheSameBackTwice() {
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
  void debtOfATenant_isKnownUntilItIsPaid() {
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
  void refund_goesBackToTheTenantToo_andLetsThoseInLineGo() {
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
  void extendedReservation_livesAsLongAgain() {
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
  void reservationThatEnds_takesItsKeyAndTicketWithIt() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted first = rig.granted(request(1_000, P1).withIdempotencyKey("k"));
    advance(LIFE);
    assertThat(rig.granted(request(1_000, P1).withIdempotencyKey("k")).reservation())
        .isNotEqualTo(first.reservation());
  }

  // ---- the provider

  @Test
  void pause_holdsEverybody_andEnds() {
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
  void factor_slowsTheModel_andGoesBack() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    rig.adjust(0.5, null, Duration.ZERO);
    advanceMillis(10_000);
    // Half of the capacity is gone, and 2,000 a second come.
    assertThat(rig.available()).isEqualTo(150_000 - 280_000);
    assertThat(rig.queued(1_000, P0).retryAfter()).hasValue(Duration.ofMillis(65_500));
    rig.adjust(1, 15_000L, Duration.ZERO);
    assertThat(rig.available()).isEqualTo(14_000);
  }

  @Test
  void whatIsMoreThanASlowedModelHas_goesWhenThatIsFull() {
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
  void tokensAtMost_onlyEverTakesAway() {
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

  // ---- another configuration

  @Test
  void reloadToMore_keepsLevels_lines_andReservations() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted open = rig.granted(300_000, P0);
    TokenDecision.Queued first = rig.queued(8_000, P1);
    CompletableFuture<Optional<TokenDecision>> second = rig.waiter(request(8_000, P1));
    rig.reload(config(SeedBudget.budget(480_000, 400_000).build()));
    // 100,000 more at once by the larger burst; not one that is not configured.
    BudgetHarness.grantOf(second);
    assertThat(rig.isGranted(first)).isTrue();
    assertThat(rig.available()).isEqualTo(84_000);
    assertThat(rig.status().capacity()).isEqualTo(400_000);
    advance(SECOND);
    assertThat(rig.available()).isEqualTo(92_000);
    assertThat(rig.settle(open, 100_000).orElseThrow().refundedTokens()).isEqualTo(200_000);
    assertThat(rig.status().running()).isEqualTo(2);
  }

  @Test
  void reloadToLess_isDebt_andTheLineStays() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(200_000, P0);
    rig.reload(config(SeedBudget.budget(120_000, 100_000).build()));
    assertThat(rig.available()).isEqualTo(-100_000);
    TokenDecision.Queued first = rig.queued(1_000, P1);
    TokenDecision.Queued second = rig.queued(1_000, P0);
    rig.reload(config(SeedBudget.budget(240_000, 100_000).build()));
    assertThat(rig.standing(second).queuePosition()).isEqualTo(1);
    assertThat(rig.standing(first).queuePosition()).isEqualTo(2);
    assertThat(rig.standing(first).ticket()).isEqualTo(first.ticket());
    advanceMillis(25_500);
    assertThat(rig.isGranted(first)).isTrue();
  }

  @Test
  void reload_isNoRefill() {
    BudgetConfig config = config(sonnet(Allocation.OFF));
    BudgetHarness rig = open(config);
    rig.granted(300_000, P0);
    for (int i = 0; i < 5; i++) {
      rig.reload(config);
    }
    rig.reload(config(Map.of("other", sonnet(Allocation.OFF)), PATIENT));
    rig.reload(config);
    assertThat(rig.available()).isZero();
  }

  @Test
  void reload_isNoRefillOfRequests() {
    ModelBudget budget = sonnet(Allocation.OFF);
    BudgetHarness rig = open(budget.toBuilder().requests(Limit.perMinute(10)).build());
    for (int i = 0; i < 10; i++) {
      rig.granted(1, P1);
    }
    rig.reload(
        config(budget.toBuilder().requests(Limit.perSecond(20), Limit.perMinute(10)).build()));
    assertThat(rig.queued(1, P1).binding()).isEqualTo(BudgetDimension.REQUESTS);
  }

  /**
   * Tenants' time until a reload is paid at the rate until then, and from then on at the new one.
   */
  @Test
  void reload_isNoRefillOfTenants() {
    ModelBudget.TenantBudget slow = new ModelBudget.TenantBudget(Limit.perMinute(60, 1_000), 1);
    ModelBudget.TenantBudget fast = new ModelBudget.TenantBudget(Limit.perMinute(60_000, 1_000), 1);
    ModelBudget.TenantBudget other =
        new ModelBudget.TenantBudget(Limit.perMinute(60_000, 2_000), 1);
    ModelBudget budget = sonnet(Allocation.OFF);
    BudgetHarness rig =
        open(
            budget.toBuilder()
                .tenants(Map.of("named", slow, "dropped", slow, "same", slow, "*", slow))
                .build());
    for (String each : List.of("named", "dropped", "same", "taken up", "any")) {
      rig.granted(request(1_000, P1).withTenant(each));
    }
    advanceMillis(5_000);
    rig.reload(
        config(
            budget.toBuilder()
                .tenants(Map.of("named", fast, "taken up", fast, "same", slow, "*", other))
                .build()));
    assertThat(ofTenant(rig, "named")).isEqualTo(5);
    assertThat(ofTenant(rig, "taken up")).isEqualTo(5);
    assertThat(ofTenant(rig, "same")).isEqualTo(5);
    // These may have more at a time now.
    assertThat(ofTenant(rig, "dropped")).isEqualTo(1_005);
    assertThat(ofTenant(rig, "any")).isEqualTo(1_005);
    advanceMillis(100);
    assertThat(ofTenant(rig, "named")).isEqualTo(105);
    assertThat(ofTenant(rig, "dropped")).isEqualTo(1_105);
    assertThat(ofTenant(rig, "any")).isEqualTo(1_105);
    // A tenant without a call between two reloads may have had the slower of both rates.
    rig.granted(request(100, P1).withTenant("any"));
    rig.reload(config(budget.toBuilder().tenants(Map.of("named", slow, "*", slow)).build()));
    assertThat(ofTenant(rig, "any")).isEqualTo(5);
    advanceMillis(1_000);
    assertThat(ofTenant(rig, "named")).isEqualTo(106);
    assertThat(ofTenant(rig, "any")).isEqualTo(6);
  }

  private static long ofTenant(BudgetHarness rig, String tenant) {
    return rig.explain(request(1, P1).withTenant(tenant)).dimensions().stream()
        .filter(part -> part.dimension() == BudgetDimension.TENANT)
        .mapToLong(TokenExplanation.DimensionStatus::available)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void reload_refusesWhoeverCannotBeInLine() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted open = rig.granted(300_000, P0);
    CompletableFuture<Optional<TokenDecision>> large = rig.waiter(request(200_000, P1));
    CompletableFuture<Optional<TokenDecision>> batch = rig.waiter(request(1_000, P2));
    Map<String, Double> classes = new LinkedHashMap<>();
    classes.put(P0, 1.0);
    classes.put(P1, 1.0);
    ModelBudget smaller = SeedBudget.budget(240_000, 100_000).build();
    rig.reload(config(smaller.toBuilder().priorityClasses(classes).build()));
    impossible(BudgetHarness.get(large).orElseThrow());
    assertThat(BudgetHarness.refusalOf(batch)).isEqualTo(TokenDecision.Reason.REMOVED);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0));
    CompletableFuture<Optional<TokenDecision>> last = rig.waiter(request(1_000, P1));
    rig.reload(config(Map.of("other", smaller), PATIENT));
    assertThat(BudgetHarness.refusalOf(last)).isEqualTo(TokenDecision.Reason.REMOVED);
    assertThatThrownBy(() -> rig.ask(1, P1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("other")
        .hasMessageContaining(MODEL);
    // A grant can be settled all the same.
    assertThat(rig.settle(open, 1)).isPresent();
  }

  @Test
  void reload_ofWhatCannotBeKept_changesNothing() {
    BudgetHarness rig = open(Allocation.OFF);
    // No exact units for so many tokens at such a rate.
    ModelBudget huge = SeedBudget.budget(1, 1_000_000_000_000L).build();
    Map<String, ModelBudget> bad = models(MODEL, SeedBudget.budget(1, 1).build(), "huge", huge);
    assertThatThrownBy(() -> rig.reload(config(bad, PATIENT)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(rig.status().capacity()).isEqualTo(300_000);
  }

  @Test
  void reload_thatTakesTheBudgetOfATenant_andGivesItBack_isNoRefill() {
    ModelBudget without = sonnet(Allocation.OFF);
    ModelBudget with =
        without.toBuilder()
            .tenants(Map.of("t", new ModelBudget.TenantBudget(Limit.perMinute(600, 1_000), 1)))
            .build();
    BudgetHarness rig = open(with);
    rig.granted(request(1_000, P1).withTenant("t"));
    rig.reload(config(without));
    rig.granted(request(2_000, P1).withTenant("t"));
    rig.reload(config(with));
    assertThat(rig.queued(request(1, P1).withTenant("t")).binding())
        .isEqualTo(BudgetDimension.TENANT);
  }
}
