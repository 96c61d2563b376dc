package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Contract of settlements and owners in every budget store: how much a settlement may charge, and
 * which tenant a ticket or reservation belongs to. Subclasses supply the store.
 *
 * @since 0.1
 */
public abstract class SettlementContract extends BudgetSuite {
  private static final Duration LIFE = Duration.ofMinutes(10);

  // ---- usage beyond what a call can use

  /** The next caller waited for 95 seconds. */
  @Test
  void settlement_chargesNoMoreThanTheBurst() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted one = rig.granted(request(1, P1).withTenant("t"));
    TokenSettlement settled = rig.settle(one, TokenRequest.MAX_TOKENS).orElseThrow();
    assertThat(settled)
        .isEqualTo(
            new TokenSettlement(
                MODEL, "t", 1, 1, TokenRequest.MAX_TOKENS, 0, 299_999, 999_999_700_000L));
    assertThat(rig.available()).isZero();
    assertThat(rig.queued(4_000, P1).retryAfter()).hasValue(Duration.ofSeconds(1));
    assertThat(rig.status().counts().tokensConsumed()).isEqualTo(300_000);
  }

  @Test
  void settlement_chargesNoMoreThanACallCanUse() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .maxContextTokens(64_000)
                .maxOutputTokens(4_000)
                .build());
    rig.settle(rig.granted(1, P1), TokenRequest.MAX_TOKENS);
    assertThat(rig.available()).isEqualTo(232_000);
    // Reserved tokens were granted and can be used.
    rig.settle(rig.granted(100_000, P1), 100_001);
    assertThat(rig.available()).isEqualTo(132_000);
  }

  @Test
  void settlement_leavesNoMoreDebtThanTheBurst() {
    BudgetHarness rig =
        open(sonnet(Allocation.OFF).toBuilder().maxContextTokens(1_000_000).build());
    TokenSettlement settled = rig.settle(rig.granted(300_000, P1), 1_000_000).orElseThrow();
    assertThat(settled.chargedTokens()).isEqualTo(600_000);
    assertThat(settled.excessTokens()).isEqualTo(400_000);
    assertThat(rig.available()).isEqualTo(-300_000);
  }

  @Test
  void settlement_chargesTheTenantNoMoreThanACallCanUse() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .maxContextTokens(1_500)
                .tenants(Map.of("t", new ModelBudget.TenantBudget(Limit.perMinute(60, 1_000), 1)))
                .build());
    rig.settle(rig.granted(request(1, P1).withTenant("t")), TokenRequest.MAX_TOKENS);
    assertThat(ofTenant(rig, "t")).isEqualTo(-500);
    assertThat(rig.available()).isEqualTo(298_500);
  }

  @Test
  void manyExcessiveSettlements_chargeOneBurst_thenAQuarterOfTheRate() {
    BudgetHarness rig = open(Allocation.OFF);
    List<TokenDecision.Granted> held = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      held.add(rig.granted(1, P1));
    }
    long charged = 0;
    for (TokenDecision.Granted each : held.subList(0, 10)) {
      charged += rig.settle(each, TokenRequest.MAX_TOKENS).orElseThrow().chargedTokens();
    }
    // The first takes a burst, the others twice what they have reserved.
    assertThat(charged).isEqualTo(300_000 + 9 * 2);
    assertThat(rig.available()).isEqualTo(-28);
    // The allowance owes four bursts, of which it has one.
    advance(Duration.ofSeconds(4 * 75 - 75 - 1));
    assertThat(rig.available()).isEqualTo(300_000);
    assertThat(rig.settle(held.get(10), 300_000).orElseThrow().chargedTokens()).isEqualTo(2);
    advance(Duration.ofSeconds(2));
    assertThat(rig.settle(held.get(11), 300_000).orElseThrow().chargedTokens()).isEqualTo(300_000);
    assertThat(rig.settle(held.get(12), 300_000).orElseThrow().chargedTokens()).isEqualTo(2);
  }

  @Test
  void usageUpToTwiceTheReservation_needsNoAllowance() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.settle(rig.granted(1, P1), TokenRequest.MAX_TOKENS);
    advance(Duration.ofSeconds(75));
    assertThat(rig.settle(rig.granted(1_000, P1), 1_900).orElseThrow().excessTokens()).isZero();
    assertThat(rig.settle(rig.granted(1_000, P1), 2_100).orElseThrow().excessTokens())
        .isEqualTo(100);
  }

  @Test
  void reload_refillsNoAllowance() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.settle(rig.granted(1, P1), TokenRequest.MAX_TOKENS);
    rig.reload(config(SeedBudget.budget(240_000, 400_000).build()));
    rig.reload(config(sonnet(Allocation.OFF)));
    advance(Duration.ofSeconds(75));
    assertThat(rig.settle(rig.granted(1, P1), 9).orElseThrow().chargedTokens()).isEqualTo(2);
  }

  /** After 200 of 225 seconds, twice the rate needs half of the other 25. */
  @Test
  void allowance_accruesAtTheOldRateUntilAReload() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.settle(rig.granted(1, P1), TokenRequest.MAX_TOKENS);
    advance(Duration.ofSeconds(200));
    rig.reload(config(SeedBudget.budget(480_000, 300_000).build()));
    assertThat(rig.settle(rig.granted(1, P1), 9).orElseThrow().chargedTokens()).isEqualTo(2);
    advance(Duration.ofSeconds(14));
    assertThat(rig.settle(rig.granted(1, P1), 9).orElseThrow().chargedTokens()).isEqualTo(9);
  }

  @Test
  void repeatedOrExpiredSettlement_chargesNothing() {
    BudgetHarness rig = open(Allocation.OFF);
    TokenDecision.Granted settled = rig.granted(1, P1);
    TokenDecision.Granted ended = rig.granted(1, P1);
    rig.settle(settled, 1);
    assertThat(rig.settle(settled, TokenRequest.MAX_TOKENS)).isEmpty();
    advance(LIFE);
    assertThat(rig.settle(ended, TokenRequest.MAX_TOKENS)).isEmpty();
    assertThat(rig.available()).isEqualTo(300_000);
  }

  // ---- owners

  @Test
  void owner_isKnownAsLongAsItsTicketOrReservation() {
    BudgetHarness rig = open(sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build());
    TokenOwner acme = new TokenOwner(MODEL, "acme", P2);
    TokenOwner other = new TokenOwner(MODEL, "other", P1);
    TokenDecision.Granted granted = rig.granted(request(1, P2).withTenant("acme"));
    TokenDecision.Queued queued = rig.queued(request(1, P1).withTenant("other"));
    BudgetHarness elsewhere =
        join(rig, config(sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build()));
    for (BudgetHarness each : List.of(rig, elsewhere)) {
      assertThat(each.owner(granted.reservation())).contains(acme);
      assertThat(each.owner(queued.ticket())).contains(other);
    }
    rig.settle(granted, 1);
    assertThat(elsewhere.owner(granted.reservation())).isEmpty();
    assertThat(elsewhere.owner(queued.ticket())).contains(other);
    TokenDecision.Granted next = granted(rig.poll(queued).orElseThrow());
    assertThat(elsewhere.owner(next.reservation())).contains(other);
    rig.settle(next, 1);
    assertThat(elsewhere.owner(queued.ticket())).isEmpty();
    for (String none : List.of("", "t", "r0123456789-00", granted.reservation() + "x")) {
      assertThat(rig.owner(none)).isEmpty();
    }
  }

  @Test
  void owner_doesNotRefreshATicket() {
    BudgetHarness rig =
        open(
            config(
                Map.of(MODEL, sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build()),
                rules(10, Duration.ofSeconds(2))));
    rig.granted(1, P1);
    TokenDecision.Queued queued = rig.queued(1, P1);
    advanceMillis(1_500);
    assertThat(rig.owner(queued.ticket())).isPresent();
    advanceMillis(1_000);
    assertThat(rig.poll(queued).orElseThrow()).isInstanceOf(Denied.class);
  }
}
