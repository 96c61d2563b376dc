package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.governor.TokenExplanation.Outcome;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/**
 * Contract of the order of the waiting list in every budget store. A subclass creates the store.
 *
 * @since 0.1
 */
public abstract class WaitingListContract extends BudgetSuite {
  private static final ModelBudget.TenantBudget AMPLE =
      new ModelBudget.TenantBudget(Limit.perMinute(1_000_000), 1);

  /** The tenants of what is granted from now on, in order. */
  private static final class Grants implements BudgetListener {
    final List<TokenRequest> all = new CopyOnWriteArrayList<>();

    @Override
    public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
      all.add(request);
    }
  }

  private static Map<String, Double> usual() {
    return SeedBudget.CLASSES;
  }

  // ---- floods

  @Test
  void floodOfOneTenant_leavesRoomForOtherTenants() {
    BudgetHarness rig =
        open(
            config(
                Map.of(MODEL, sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build()),
                rules(30, MINUTE)));
    rig.granted(1, P1);
    TokenRequest flood = request(1, P1).withTenant("flood");
    List<dev.sluice.governor.TokenDecision.Queued> places = new ArrayList<>();
    for (int i = 0; i < 27; i++) {
      places.add(rig.queued(flood));
    }
    Denied refused = refused(rig.ask(flood));
    assertThat(refused.reason())
        .isEqualTo(dev.sluice.governor.TokenDecision.Reason.TOO_MANY_WAITERS);
    assertThat(refused.message()).contains("at most 30 requests may wait", "one tenant");
    assertThat(refused(rig.ask(request(1, P0).withTenant("flood"))).reason())
        .isEqualTo(dev.sluice.governor.TokenDecision.Reason.TOO_MANY_WAITERS);
    assertThat(rig.explain(flood).binding()).isEqualTo(BudgetDimension.WAITING_LIST);
    assertThat(rig.explain(request(1, P2)).outcome()).isEqualTo(Outcome.QUEUED);
    rig.queued(1, P2);
    // A place that it leaves may be its own again, but not the tenth that is free.
    rig.cancel(places.get(0));
    rig.cancel(places.get(1));
    rig.cancel(places.get(2));
    rig.reload(
        config(
            Map.of(MODEL, sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build()),
            rules(28, MINUTE)));
    rig.queued(flood);
    assertThat(rig.ask(flood)).isInstanceOf(Denied.class);
    rig.queued(1, P2);
  }

  // ---- classes

  @Test
  void smallRequest_doesNotOvertakeOneOfItsClassOrAbove() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(299_000, P0);
    dev.sluice.governor.TokenDecision.Queued large = rig.queued(200_000, P0);
    dev.sluice.governor.TokenDecision.Queued small = rig.queued(4, P0);
    dev.sluice.governor.TokenDecision.Queued lower = rig.queued(4, P2);
    assertThat(small.binding()).isEqualTo(BudgetDimension.WAITING_LIST);
    assertThat(lower.binding()).isEqualTo(BudgetDimension.WAITING_LIST);
    advanceMillis(49_749);
    assertThat(List.of(large, small, lower)).allMatch(rig::isWaiting);
    advanceMillis(1);
    assertThat(rig.isGranted(large)).isTrue();
    assertThat(List.of(small, lower)).allMatch(rig::isWaiting);
    advanceMillis(1);
    assertThat(rig.isGranted(small)).isTrue();
    assertThat(rig.isWaiting(lower)).isTrue();
    advanceMillis(1);
    assertThat(rig.isGranted(lower)).isTrue();
  }

  @Test
  void higherClass_isGrantedFirst_thoughItCameLater() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    List<dev.sluice.governor.TokenDecision.Queued> came = new ArrayList<>();
    for (String name : new String[] {P2, P1, P0, P2, P1, P0}) {
      came.add(rig.queued(4_000, name));
    }
    for (int next : new int[] {2, 5, 1, 4, 0, 3}) {
      assertThat(rig.standing(came.get(next)).queuePosition()).isEqualTo(1);
      advance(SECOND);
      assertThat(rig.isGranted(came.get(next))).isTrue();
    }
  }

  @Test
  void waitingList_isListedInOrder_andInPages() {
    BudgetHarness rig = open(Allocation.OFF);
    WaitingListStatus empty = BudgetHarness.get(rig.store.waitingList(MODEL, 0, 10));
    assertThat(empty.tickets()).isEmpty();
    assertThat(empty.eta())
        .containsExactly(
            Map.entry(P0, Duration.ZERO),
            Map.entry(P1, Duration.ZERO),
            Map.entry(P2, Duration.ZERO));
    rig.granted(300_000, P0);
    dev.sluice.governor.TokenDecision.Queued batch = rig.queued(4_000, P2);
    dev.sluice.governor.TokenDecision.Queued user =
        rig.queued(request(8_000, P1).withTenant("acme"));
    advance(SECOND);
    WaitingListStatus line = BudgetHarness.get(rig.store.waitingList(MODEL, 0, 10));
    assertThat(line.model()).isEqualTo(MODEL);
    assertThat(line.total()).isEqualTo(2);
    assertThat(line.tickets())
        .containsExactly(
            new WaitingListStatus.QueuedTicket(
                user.ticket(),
                "acme",
                P1,
                8_000,
                1,
                Optional.of(Duration.ofSeconds(1)),
                BudgetDimension.TOKENS,
                Duration.ofSeconds(1)),
            new WaitingListStatus.QueuedTicket(
                batch.ticket(),
                "",
                P2,
                4_000,
                2,
                Optional.of(Duration.ofSeconds(2)),
                BudgetDimension.WAITING_LIST,
                Duration.ofSeconds(1)));
    assertThat(line.eta())
        .containsExactly(
            Map.entry(P0, Duration.ZERO),
            Map.entry(P1, Duration.ofSeconds(1)),
            Map.entry(P2, Duration.ofSeconds(2)));
    assertThat(line.binding())
        .containsExactly(
            Map.entry(P0, BudgetDimension.NONE),
            Map.entry(P1, BudgetDimension.TOKENS),
            Map.entry(P2, BudgetDimension.WAITING_LIST));
    assertThat(BudgetHarness.get(rig.store.waitingList(MODEL, 1, 10)).tickets())
        .isEqualTo(line.tickets().subList(1, 2));
    assertThat(BudgetHarness.get(rig.store.waitingList(MODEL, 0, 1)).tickets())
        .isEqualTo(line.tickets().subList(0, 1));
    assertThat(BudgetHarness.get(rig.store.waitingList(MODEL, 7, 1)).tickets()).isEmpty();
  }

  @Test
  void waitingListOfUnknownModelOrInvalidPage_isRefused() {
    BudgetHarness rig = open(Allocation.OFF);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BudgetHarness.get(rig.store.waitingList("none", 0, 1)));
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                BudgetHarness.get(
                    rig.store.waitingList(MODEL, 0, WaitingListStatus.MAX_TICKETS + 1)))
        .withMessageContaining("limit");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BudgetHarness.get(rig.store.waitingList(MODEL, -1, 1)))
        .withMessageContaining("offset");
  }

  @Test
  void requestHeldByConcurrency_delaysLowerClasses() {
    BudgetHarness rig =
        open(sonnet(Allocation.CEILING).toBuilder().maxConcurrentRequests(1).build());
    dev.sluice.governor.TokenDecision.Granted running = rig.granted(1_000, P0);
    dev.sluice.governor.TokenDecision.Queued urgent = rig.queued(1_000, P0);
    dev.sluice.governor.TokenDecision.Queued batch = rig.queued(1_000, P2);
    rig.settle(running, 1_000);
    assertThat(rig.isGranted(urgent)).isTrue();
    assertThat(rig.isWaiting(batch)).isTrue();
  }

  @Test
  void requestHeldByItsCeiling_delaysNoHigherClass() {
    BudgetHarness rig = open(Allocation.CEILING);
    rig.granted(200_000, P1);
    dev.sluice.governor.TokenDecision.Queued user = rig.queued(20_000, P1);
    assertThat(user.binding()).isEqualTo(BudgetDimension.PRIORITY_CLASS);
    assertThat(rig.granted(90_000, P0).remaining()).isEqualTo(10_000);
  }

  @Test
  void requestHeldByItsCeiling_delaysNoLowerClass() {
    Map<String, Double> shares = new LinkedHashMap<>();
    shares.put("first", 0.4);
    shares.put("last", 1.0);
    BudgetHarness rig =
        open(sonnet(Allocation.CEILING).toBuilder().priorityClasses(shares).build());
    rig.granted(120_000, "first");
    assertThat(rig.queued(1_000, "first").binding()).isEqualTo(BudgetDimension.PRIORITY_CLASS);
    assertThat(rig.granted(180_000, "last").remaining()).isZero();
    // Also in line: a second later there are tokens, which are not for the first.
    dev.sluice.governor.TokenDecision.Queued last = rig.queued(4_000, "last");
    advance(SECOND);
    assertThat(rig.isGranted(last)).isTrue();
    assertThat(rig.line()).isEqualTo(Map.of("first", 1, "last", 0));
  }

  // ---- tenants

  @Test
  void tenantWithAnExhaustedBudget_delaysNoOtherTenant() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.OFF).toBuilder()
                .tenants(
                    Map.of("small", new ModelBudget.TenantBudget(Limit.perMinute(600, 1_000), 1)))
                .build());
    rig.granted(request(1_000, P0).withTenant("small"));
    dev.sluice.governor.TokenDecision.Queued held =
        rig.queued(request(100, P0).withTenant("small"));
    assertThat(held.binding()).isEqualTo(BudgetDimension.TENANT);
    rig.granted(request(1_000, P0).withTenant("large"));
    rig.granted(request(200_000, P2).withTenant("large"));
    advance(Duration.ofSeconds(10).minus(TICK));
    assertThat(rig.isWaiting(held)).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(held)).isTrue();
  }

  @Test
  void quietTenant_doesNotWaitBehindANoisyOne() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(request(300_000, P1).withTenant("noisy"));
    List<dev.sluice.governor.TokenDecision.Queued> noisy = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      noisy.add(rig.queued(request(4_000, P1).withTenant("noisy")));
    }
    dev.sluice.governor.TokenDecision.Queued quiet =
        rig.queued(request(4_000, P1).withTenant("quiet"));
    assertThat(quiet.queuePosition()).isLessThanOrEqualTo(2);
    advanceMillis(2_000);
    assertThat(rig.isGranted(quiet)).isTrue();
    // First come, first served for the other.
    for (int i = 1; i < 30; i++) {
      assertThat(rig.standing(noisy.get(i)).queuePosition()).isEqualTo(1);
      advance(SECOND);
      assertThat(rig.isGranted(noisy.get(i))).isTrue();
    }
  }

  @Test
  void tenants_shareTokensEqually_withinOneItem() {
    requireTurns(Map.of());
  }

  @Test
  void tenantsWithWeights_shareTokensByWeight_withinOneItem() {
    requireTurns(
        Map.of(
            "a", AMPLE,
            "b", new ModelBudget.TenantBudget(Limit.perMinute(1_000_000), 2),
            "c", new ModelBudget.TenantBudget(Limit.perMinute(1_000_000), 4)));
  }

  /** While all have something in line, none has more than one item more, by weight. */
  private void requireTurns(Map<String, ModelBudget.TenantBudget> tenants) {
    int largest = 4_000;
    Grants grants = new Grants();
    BudgetHarness rig =
        open(config(sonnet(Allocation.OFF).toBuilder().tenants(tenants).build()), grants);
    rig.granted(request(300_000, P1).withTenant("d"));
    grants.all.clear();
    Random random = new Random(8);
    Map<String, Integer> left = new HashMap<>();
    for (String tenant : new String[] {"a", "b", "c"}) {
      ModelBudget.TenantBudget own = tenants.get(tenant);
      int items = 15 * (own == null ? 1 : own.weight());
      left.put(tenant, items);
      for (int i = 0; i < items; i++) {
        rig.queued(request(1 + random.nextInt(largest), P1).withTenant(tenant));
      }
    }
    advance(Duration.ofMinutes(2));
    assertThat(rig.line()).containsEntry(P1, 0);
    Map<String, Double> served = new HashMap<>(Map.of("a", 0.0, "b", 0.0, "c", 0.0));
    for (TokenRequest granted : grants.all) {
      if (left.values().stream().anyMatch(items -> items == 0)) {
        break;
      }
      ModelBudget.TenantBudget own = tenants.get(granted.tenant());
      left.merge(granted.tenant(), -1, Integer::sum);
      double turns = (double) granted.tokens() / (own == null ? 1 : own.weight());
      served.merge(granted.tenant(), turns, Double::sum);
      double most = served.values().stream().mapToDouble(each -> each).max().orElseThrow();
      double least = served.values().stream().mapToDouble(each -> each).min().orElseThrow();
      assertThat(most - least).isLessThanOrEqualTo(largest);
    }
    assertThat(left.values().stream().mapToInt(each -> each).sum()).isLessThan(15);
  }

  @Test
  void canceledWaiter_costsItsTenantNoTurn() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P1);
    dev.sluice.governor.TokenDecision.Queued first = rig.queued(request(4_000, P1).withTenant("a"));
    rig.queued(request(4_000, P1).withTenant("b"));
    dev.sluice.governor.TokenDecision.Queued left =
        rig.queued(request(100_000, P1).withTenant("a"));
    assertThat(rig.cancel(left)).isTrue();
    dev.sluice.governor.TokenDecision.Queued again = rig.queued(request(4_000, P1).withTenant("a"));
    rig.queued(request(4_000, P1).withTenant("b"));
    assertThat(rig.standing(first).queuePosition()).isEqualTo(1);
    assertThat(rig.standing(again).queuePosition()).isEqualTo(3);
  }

  // ---- guarantees

  @Test
  void minimumShare_isServedBeforeAllOthers_onceItHasAccrued() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.CEILING).toBuilder()
                .priorityClasses(usual())
                .minimumShares(Map.of(P2, 0.1))
                .build());
    rig.granted(30_000, P2); // what was guaranteed is used up
    rig.granted(270_000, P0);
    List<dev.sluice.governor.TokenDecision.Queued> urgent = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      urgent.add(rig.queued(4_000, P0));
    }
    // 400 a second are its own.
    dev.sluice.governor.TokenDecision.Queued batch = rig.queued(4_000, P2);
    advance(Duration.ofSeconds(10).minus(TICK));
    assertThat(rig.isWaiting(batch)).isTrue();
    assertThat(rig.isGranted(urgent.get(8))).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(batch)).isTrue();
    // Those above wait for one of these at the most.
    assertThat(rig.isWaiting(urgent.get(9))).isTrue();
    advance(SECOND);
    assertThat(rig.isGranted(urgent.get(9))).isTrue();
  }

  @Test
  void minimumShare_isNoExtraShare() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.CEILING).toBuilder()
                .priorityClasses(usual())
                .minimumShares(Map.of(P2, 0.1))
                .build());
    rig.granted(100_000, P2);
    rig.granted(200_000, P0);
    rig.queued(40_000, P0);
    dev.sluice.governor.TokenDecision.Queued batch = rig.queued(2_000, P2);
    advanceMillis(4_999);
    assertThat(rig.isWaiting(batch)).isTrue();
    advanceMillis(6_001);
    assertThat(rig.isGranted(batch)).isTrue();
  }

  @Test
  void minimumShare_isServed_whileItsClassWaitsForItsCeiling() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.CEILING).toBuilder()
                .priorityClasses(usual())
                .minimumShares(Map.of(P2, 0.1))
                .build());
    rig.granted(30_000, P2);
    rig.granted(270_000, P0);
    dev.sluice.governor.TokenDecision.Queued batch = rig.queued(4_000, P2);
    assertThat(batch.binding()).isEqualTo(BudgetDimension.PRIORITY_CLASS);
    advanceMillis(10_000);
    assertThat(rig.isGranted(batch)).isTrue();
  }

  // ---- many at a time

  @Test
  void moreWaitersThanADrainBatch_areGranted_whileTokensLast() {
    WaitingListConfig two =
        WaitingListConfig.builder().maxWaiting(100).drainBatch(2).refillInterval(MINUTE).build();
    BudgetHarness rig = open(config(Map.of(MODEL, sonnet(Allocation.OFF)), two));
    dev.sluice.governor.TokenDecision.Granted first = rig.granted(300_000, P0);
    List<dev.sluice.governor.TokenDecision.Queued> crowd = new ArrayList<>();
    for (int i = 0; i < 11; i++) {
      crowd.add(rig.queued(400, P1));
    }
    rig.settle(first, 0);
    advanceMillis(1);
    assertThat(crowd).allMatch(rig::isGranted);
  }

  @Test
  void waits_areNeverNegative_atAnyLength() {
    ModelBudget.TenantBudget slow = new ModelBudget.TenantBudget(Limit.perMinute(1, 200_000), 1);
    BudgetHarness rig = open(sonnet(Allocation.OFF).toBuilder().tenants(Map.of("t", slow)).build());
    rig.granted(request(200_000, P1).withTenant("t"));
    // Also beyond what a store adds up one by one.
    for (int i = 1; i <= 150; i++) {
      dev.sluice.governor.TokenDecision.Queued queued =
          rig.queued(request(200_000, P1).withTenant("t"));
      assertThat(queued.eta())
          .hasValue(Duration.ofMillis(Duration.ofMinutes(200_000L * i).toMillis()));
    }
  }
}
