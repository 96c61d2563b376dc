package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.SeedBudget;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Contract of a new configuration: it keeps levels and reservations, and adds nothing.
 *
 * @since 0.1
 */
public abstract class ReloadContract extends BudgetSuite {
  @Test
  void reloadToMore_keepsLevelsWaitersAndReservations() {
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
  void reloadToLess_leavesDebt_andKeepsTheWaitingList() {
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
  void reload_refillsNoTokens() {
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
  void reload_refillsNoRequests() {
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
  void reload_refillsNoTenantBudgets() {
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

  @Test
  void reload_refusesWaitersThatNoLongerFit() {
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
    // An open grant can still be settled.
    assertThat(rig.settle(open, 1)).isPresent();
  }

  @Test
  void reload_ofBudgetsWithoutExactUnits_changesNothing() {
    BudgetHarness rig = open(Allocation.OFF);
    // No exact units for so many tokens at such a rate.
    ModelBudget huge = SeedBudget.budget(1, 1_000_000_000_000L).build();
    Map<String, ModelBudget> bad = models(MODEL, SeedBudget.budget(1, 1).build(), "huge", huge);
    assertThatThrownBy(() -> rig.reload(config(bad, PATIENT)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(rig.status().capacity()).isEqualTo(300_000);
  }

  @Test
  void reload_thatRemovesAndRestoresATenantBudget_refillsNoTokens() {
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
