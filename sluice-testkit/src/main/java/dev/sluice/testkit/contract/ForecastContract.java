package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenExplanation.Outcome;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Contract of forecasts of every budget store: the moment at which a request is granted if nothing
 * arrives, leaves or is settled, with the dimension that decides it, or that it is unknown. Extend
 * it and say how one is made.
 *
 * @since 0.1
 */
public abstract class ForecastContract extends BudgetSuite {
  /**
   * How many random models to try.
   *
   * @return less where one takes long
   */
  protected int models() {
    return Integer.getInteger("sluice.seeds", 100);
  }

  /** Waits until just before the moment foretold, and goes then. */
  private void requireGoesAt(
      BudgetHarness rig, TokenDecision.Queued queued, long millis, BudgetDimension by) {
    assertThat(queued.eta()).hasValue(Duration.ofMillis(millis));
    assertThat(queued.binding()).isEqualTo(by);
    advance(Duration.ofMillis(millis).minus(TICK));
    assertThat(rig.isWaiting(queued)).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(queued)).isTrue();
  }

  private static void requireUnknown(TokenDecision.Queued queued, BudgetDimension by) {
    assertThat(queued.eta()).isEmpty();
    assertThat(queued.binding()).isEqualTo(by);
  }

  private static WaitingListStatus line(BudgetHarness rig) {
    return BudgetHarness.get(rig.store.waitingList(MODEL, 0, 100));
  }

  // ---- slots

  @Test
  void withoutAFreeSlot_etaIsUnknown() {
    BudgetHarness rig = open(sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build());
    TokenDecision.Granted running = rig.granted(1_000, P1);
    TokenExplanation foretold = rig.explain(request(1_000, P1));
    assertThat(foretold.outcome()).isEqualTo(Outcome.QUEUED);
    assertThat(foretold.retryAfter()).isEmpty();
    assertThat(foretold.eta()).isEmpty();
    assertThat(foretold.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    TokenDecision.Queued queued = rig.queued(1_000, P1);
    assertThat(queued.retryAfter()).isEmpty();
    requireUnknown(queued, BudgetDimension.CONCURRENCY);
    requireUnknown(rig.standing(queued), BudgetDimension.CONCURRENCY);
    WaitingListStatus line = line(rig);
    assertThat(line.eta())
        .containsExactly(Map.entry(P0, Duration.ZERO), Map.entry(P2, Duration.ZERO));
    assertThat(line.binding())
        .containsExactly(
            Map.entry(P0, BudgetDimension.NONE),
            Map.entry(P1, BudgetDimension.CONCURRENCY),
            Map.entry(P2, BudgetDimension.NONE));
    assertThat(line.tickets().get(0).eta()).isEmpty();
    assertThat(line.tickets().get(0).binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    advance(Duration.ofMillis(14_600));
    assertThat(rig.isWaiting(queued)).isTrue();
    rig.settle(running, 1_000);
    assertThat(rig.isGranted(queued)).isTrue();
  }

  @Test
  void slotsOfEarlierWaiters_areNotFreeForLaterOnes() {
    BudgetHarness rig = open(sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(2).build());
    TokenDecision.Granted running = rig.granted(300_000, P1);
    TokenDecision.Queued first = rig.queued(4_000, P1);
    TokenDecision.Queued second = rig.queued(4_000, P1);
    // It is short of tokens, too, and of these it is known when they are there.
    assertThat(second.retryAfter()).hasValue(Duration.ofSeconds(1));
    requireUnknown(second, BudgetDimension.CONCURRENCY);
    requireUnknown(rig.queued(4_000, P2), BudgetDimension.CONCURRENCY);
    requireGoesAt(rig, first, 1_000, BudgetDimension.TOKENS);
    advance(MINUTE);
    assertThat(rig.isWaiting(second)).isTrue();
    rig.settle(running, 300_000);
    assertThat(rig.isGranted(second)).isTrue();
  }

  @Test
  void unknownWait_overridesKnownWaits() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.CEILING).toBuilder()
                .maxConcurrentRequests(1)
                .requests(Limit.perSecond(1), Limit.perMinute(1))
                .build());
    rig.granted(300_000, P0);
    rig.adjust(1, null, Duration.ofSeconds(20));
    TokenDecision.Queued queued = rig.queued(1_000, P2);
    assertThat(queued.retryAfter()).isEmpty();
    requireUnknown(queued, BudgetDimension.CONCURRENCY);
  }

  // ---- waits that time ends

  @Test
  void tokens_bind_includingThoseOfEarlierWaiters() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    rig.queued(4_000, P0);
    rig.queued(4_000, P1);
    TokenDecision.Queued last = rig.queued(8_000, P1);
    rig.queued(4_000, P2);
    assertThat(last.retryAfter()).hasValue(Duration.ofSeconds(2));
    requireGoesAt(rig, last, 4_000, BudgetDimension.TOKENS);
  }

  @Test
  void shareOfTheClass_binds_ifItIsTheLongerWait() {
    BudgetHarness rig = open(Allocation.CEILING);
    rig.granted(300_000, P0);
    // There are 12,000 tokens in 3 s, and 180,000 are kept for the classes above.
    TokenDecision.Queued batch = rig.queued(12_000, P2);
    assertThat(batch.retryAfter()).hasValue(Duration.ofSeconds(48));
    assertThat(rig.explain(request(12_000, P2)).eta()).hasValue(Duration.ofSeconds(51));
    requireGoesAt(rig, batch, 48_000, BudgetDimension.PRIORITY_CLASS);
  }

  @Test
  void shareOfTheClass_binds_includingEarlierWaitersOfItsClassAndAbove() {
    BudgetHarness rig = open(Allocation.CEILING);
    rig.granted(300_000, P0);
    rig.queued(8_000, P0);
    rig.queued(8_000, P1);
    rig.queued(12_000, P2);
    TokenDecision.Queued last = rig.queued(12_000, P2);
    assertThat(last.retryAfter()).hasValue(Duration.ofSeconds(48));
    requireGoesAt(rig, last, 55_000, BudgetDimension.PRIORITY_CLASS);
  }

  @Test
  void minimumShareOfTheClass_bindsBeforeItsCeiling() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.CEILING).toBuilder()
                .priorityClasses(SeedBudget.CLASSES)
                .minimumShares(Map.of(P2, 0.1))
                .build());
    rig.granted(30_000, P2);
    rig.granted(270_000, P0);
    // 400 a second are its own; more than 30,000 at once never are.
    TokenDecision.Queued batch = rig.queued(4_000, P2);
    assertThat(batch.retryAfter()).hasValue(Duration.ofSeconds(10));
    assertThat(rig.explain(request(30_001, P2)).retryAfter()).hasValue(Duration.ofMillis(52_501));
    requireGoesAt(rig, batch, 10_000, BudgetDimension.PRIORITY_CLASS);
  }

  @Test
  void minimumShareOfTheClass_doesNotWaitForTheClassesAbove() {
    BudgetHarness rig =
        open(
            sonnet(Allocation.CEILING).toBuilder()
                .priorityClasses(SeedBudget.CLASSES)
                .minimumShares(Map.of(P2, 0.1))
                .build());
    rig.granted(30_000, P2);
    rig.granted(270_000, P0);
    rig.queued(200_000, P0);
    rig.queued(4_000, P2);
    requireGoesAt(rig, rig.queued(4_000, P2), 20_000, BudgetDimension.PRIORITY_CLASS);
  }

  @Test
  void requests_bind_includingEarlierWaiters() {
    BudgetHarness rig =
        open(sonnet(Allocation.OFF).toBuilder().requests(Limit.perSecond(2)).build());
    rig.granted(1, P1);
    rig.granted(1, P1);
    rig.queued(1, P1);
    TokenDecision.Queued second = rig.queued(1, P1);
    assertThat(line(rig).eta()).containsEntry(P1, Duration.ofSeconds(1));
    assertThat(second.retryAfter()).hasValue(Duration.ofMillis(500));
    requireGoesAt(rig, second, 1_000, BudgetDimension.REQUESTS);
  }

  @Test
  void budgetOfTheTenant_binds_includingItsEarlierWaitersOfAllClasses() {
    ModelBudget.TenantBudget small = new ModelBudget.TenantBudget(Limit.perMinute(6_000, 1_000), 1);
    BudgetHarness rig =
        open(sonnet(Allocation.OFF).toBuilder().tenants(Map.of("t", small)).build());
    rig.granted(request(1_000, P1).withTenant("t"));
    rig.queued(request(500, P0).withTenant("t"));
    rig.queued(request(500, P1).withTenant("t"));
    assertThat(rig.explain(request(500, P1).withTenant("t")).eta())
        .hasValue(Duration.ofSeconds(15));
    TokenDecision.Queued third = rig.queued(request(500, P1).withTenant("t"));
    rig.granted(request(1_000, P1).withTenant("other"));
    assertThat(third.retryAfter()).hasValue(Duration.ofSeconds(5));
    requireGoesAt(rig, third, 15_000, BudgetDimension.TENANT);
  }

  @Test
  void pauseOfTheProvider_binds_ifItIsTheLongestWait() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    rig.adjust(1, null, Duration.ofSeconds(5));
    TokenDecision.Queued first = rig.queued(4_000, P1);
    TokenDecision.Queued later = rig.queued(20_000, P1);
    assertThat(first.retryAfter()).hasValue(Duration.ofSeconds(5));
    assertThat(rig.explain(request(24_000, P0)).binding()).isEqualTo(BudgetDimension.TOKENS);
    requireGoesAt(rig, first, 5_000, BudgetDimension.PROVIDER);
    requireGoesAt(rig, rig.standing(later), 1_000, BudgetDimension.TOKENS);
  }

  @Test
  void longestOfSeveralWaits_binds() {
    BudgetHarness rig =
        open(sonnet(Allocation.CEILING).toBuilder().requests(Limit.perMinute(1)).build());
    rig.granted(300_000, P0);
    // Tokens in 3 s, its share in 48 s, a request in 60 s.
    requireGoesAt(rig, rig.queued(12_000, P2), 60_000, BudgetDimension.REQUESTS);
  }

  @Test
  void requestHeldOnlyByEarlierWaiters_hasAnEta() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(298_000, P0);
    rig.queued(10_000, P0);
    TokenDecision.Queued behind = rig.queued(1_000, P1);
    assertThat(behind.retryAfter()).hasValue(Duration.ofMillis(0));
    requireGoesAt(rig, behind, 2_250, BudgetDimension.WAITING_LIST);
  }

  @Test
  void requestLargerThanASlowedModelHolds_isGrantedWhenTheModelIsFull() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.adjust(0.5, 0L, Duration.ZERO);
    TokenDecision.Queued large = rig.queued(200_000, P1);
    assertThat(large.retryAfter()).hasValue(Duration.ofSeconds(75));
    requireGoesAt(rig, large, 75_000, BudgetDimension.TOKENS);
  }

  @Test
  void waitersHeldByTokens_areGrantedAtTheirEta() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    requireAllGoWhenForetold(rig, 8_000);
  }

  @Test
  void waitersHeldByRequests_areGrantedAtTheirEta() {
    BudgetHarness rig =
        open(sonnet(Allocation.OFF).toBuilder().requests(Limit.perSecond(3)).build());
    for (int i = 0; i < 3; i++) {
      rig.granted(1, P0);
    }
    requireAllGoWhenForetold(rig, 10);
  }

  /** Requests of any size, class and tenant: each goes at the moment foretold. */
  private void requireAllGoWhenForetold(BudgetHarness rig, int largest) {
    Random random = new Random(largest);
    List<TokenDecision.Queued> all = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      String priority = List.of(P0, P1, P2).get(random.nextInt(3));
      String tenant = String.valueOf("abc".charAt(random.nextInt(3)));
      all.add(rig.queued(request(1 + random.nextInt(largest), priority).withTenant(tenant)));
    }
    all.replaceAll(rig::standing);
    all.sort(Comparator.comparingInt(TokenDecision.Queued::queuePosition));
    long passed = 0;
    for (TokenDecision.Queued each : all) {
      long eta = each.eta().orElseThrow().toMillis();
      if (eta > passed) {
        advanceMillis(eta - 1 - passed);
        assertThat(rig.isWaiting(each)).as("waits: %s", each).isTrue();
        advanceMillis(1);
        passed = eta;
      }
      assertThat(rig.isGranted(each)).as("goes: %s", each).isTrue();
    }
  }

  // ---- requests that are never granted

  @Test
  void deniedOrImpossibleRequest_hasNoEta() {
    ModelBudget.TenantBudget small = new ModelBudget.TenantBudget(Limit.perMinute(6_000, 1_000), 1);
    BudgetHarness rig =
        open(
            config(
                Map.of(
                    MODEL,
                    sonnet(Allocation.CEILING).toBuilder().tenants(Map.of("t", small)).build()),
                rules(1, Duration.ofHours(1))));
    TokenExplanation tooLarge = rig.explain(request(400_000, P1).withTenant("t"));
    assertThat(tooLarge.outcome()).isEqualTo(Outcome.IMPOSSIBLE);
    assertThat(tooLarge.retryAfter()).isEmpty();
    assertThat(tooLarge.eta()).isEmpty();
    assertThat(tooLarge.dimensions())
        .extracting(TokenExplanation.DimensionStatus::dimension)
        .containsExactly(
            BudgetDimension.TOKENS, BudgetDimension.PRIORITY_CLASS, BudgetDimension.TENANT);
    assertThat(tooLarge.dimensions()).allMatch(part -> part.retryAfter().isEmpty());
    rig.granted(300_000, P0);
    rig.queued(1_000, P0);
    TokenExplanation lineFull = rig.explain(request(1_000, P0));
    assertThat(lineFull.binding()).isEqualTo(BudgetDimension.WAITING_LIST);
    assertThat(lineFull.eta()).isEmpty();
  }

  // ---- any model

  /** The only request in line goes at the moment foretold, or it is unknown. */
  @Test
  void singleWaiterOfARandomModel_isGrantedAtItsEta() throws Exception {
    int foretold = 0;
    for (long seed = 0; seed < models(); seed++) {
      try {
        foretold += goesWhenForetold(new Random(seed)) ? 1 : 0;
      } catch (AssertionError | RuntimeException failure) {
        throw new AssertionError("seed " + seed, failure);
      } finally {
        closeAll();
      }
    }
    assertThat(foretold).isGreaterThan(models() / 4);
  }

  private boolean goesWhenForetold(Random random) {
    BudgetHarness rig = open(anyModel(random));
    TokenDecision outcome = rig.ask(1, P0);
    for (int i = 0; i < 50 && !(outcome instanceof TokenDecision.Queued); i++) {
      if (random.nextInt(10) == 0) {
        rig.adjust(0.5 + 0.5 * random.nextDouble(), null, Duration.ofMillis(random.nextInt(9_000)));
      }
      String priority = List.of(P0, P1, P2).get(random.nextInt(3));
      String tenant = random.nextBoolean() ? "t" : "other";
      outcome = rig.ask(request(1 + random.nextInt(6_000), priority).withTenant(tenant));
    }
    if (!(outcome instanceof TokenDecision.Queued queued)) {
      return false;
    }
    assertThat(queued.eta()).isEqualTo(queued.retryAfter());
    if (queued.eta().isEmpty()) {
      requireUnknown(queued, BudgetDimension.CONCURRENCY);
      advance(Duration.ofMinutes(5));
      assertThat(rig.isWaiting(queued)).isTrue();
      return false;
    }
    // The forecast is rounded up.
    advance(Duration.ofMillis(queued.eta().orElseThrow().toMillis() - 1));
    assertThat(rig.isWaiting(queued)).as("waits: %s", queued).isTrue();
    advance(Duration.ofMillis(1));
    assertThat(rig.isGranted(queued)).as("goes: %s", queued).isTrue();
    return true;
  }

  private static ModelBudget anyModel(Random random) {
    Allocation allocation = random.nextBoolean() ? Allocation.CEILING : Allocation.OFF;
    Map<String, Double> guarantees = random.nextBoolean() ? Map.of(P2, 0.25) : Map.of();
    ModelBudget budget =
        SeedBudget.budget(6_000 + random.nextInt(60_000), 10_000 + random.nextInt(9_000))
            .allocation(allocation)
            .priorityClasses(SeedBudget.CLASSES)
            .minimumShares(guarantees)
            .build();
    if (random.nextBoolean()) {
      budget =
          budget.toBuilder()
              .requests(Limit.perSecond(1 + random.nextInt(5)), Limit.perMinute(10))
              .build();
    }
    if (random.nextInt(4) == 0) {
      budget = budget.toBuilder().maxConcurrentRequests(3).build();
    }
    return random.nextBoolean()
        ? budget
        : budget.toBuilder()
            .tenants(Map.of("t", new ModelBudget.TenantBudget(Limit.perMinute(3_000, 6_000), 1)))
            .build();
  }

  // ---- an exhausted bucket

  @Test
  void headBeyondTheLevel_exhaustsTheModel_untilItIsGranted() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(150_000, P1);
    assertThat(rig.status().exhaustion()).isEmpty();
    TokenDecision.Queued head = rig.queued(270_000, P1);
    rig.queued(1_000, P1);
    requireExhausted(rig, BudgetDimension.TOKENS, 270_000, Duration.ZERO);
    advance(SECOND);
    requireExhausted(rig, BudgetDimension.TOKENS, 270_000, SECOND);
    advance(Duration.ofSeconds(29));
    assertThat(rig.isGranted(head)).isTrue();
    // The next is the head, and the model has been short without a break.
    requireExhausted(rig, BudgetDimension.TOKENS, 1_000, Duration.ofSeconds(30));
    advance(SECOND);
    assertThat(rig.status().exhaustion()).isEmpty();
    rig.queued(10_000, P1);
    requireExhausted(rig, BudgetDimension.TOKENS, 10_000, Duration.ZERO);
  }

  @Test
  void emptyBucketWithoutWaiters_isNotExhausted() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P1);
    assertThat(rig.status().exhaustion()).isEmpty();
    TokenDecision.Queued only = rig.queued(1, P1);
    requireExhausted(rig, BudgetDimension.TOKENS, 1, Duration.ZERO);
    assertThat(rig.cancel(only)).isTrue();
    assertThat(rig.status().exhaustion()).isEmpty();
  }

  @Test
  void requestsOfTheModel_canBeExhausted_too() {
    BudgetHarness rig =
        open(sonnet(Allocation.OFF).toBuilder().requests(Limit.perMinute(1)).build());
    rig.granted(1, P1);
    rig.queued(1, P1);
    advance(SECOND);
    requireExhausted(rig, BudgetDimension.REQUESTS, 1, SECOND);
  }

  @Test
  void modelWithEnoughTokens_isNotExhausted_byOtherDimensions() {
    ModelBudget.TenantBudget small = new ModelBudget.TenantBudget(Limit.perMinute(6_000, 1_000), 1);
    BudgetHarness rig =
        open(
            sonnet(Allocation.CEILING).toBuilder()
                .maxConcurrentRequests(4)
                .tenants(Map.of("t", small))
                .build());
    rig.granted(request(1_000, P1).withTenant("t"));
    rig.queued(request(1_000, P1).withTenant("t"));
    assertThat(rig.status().exhaustion()).isEmpty();
    rig.granted(119_000, P2);
    assertThat(rig.queued(100_000, P2).binding()).isEqualTo(BudgetDimension.PRIORITY_CLASS);
    assertThat(rig.status().exhaustion()).isEmpty();
    rig.granted(1, P0);
    rig.granted(1, P0);
    assertThat(rig.queued(1, P0).binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    assertThat(rig.status().exhaustion()).isEmpty();
  }

  private static void requireExhausted(
      BudgetHarness rig, BudgetDimension dimension, long needed, Duration lasts) {
    Optional<GovernorStatus.Exhaustion> head = rig.status().exhaustion();
    assertThat(head).contains(new GovernorStatus.Exhaustion(dimension, needed, lasts));
  }
}
