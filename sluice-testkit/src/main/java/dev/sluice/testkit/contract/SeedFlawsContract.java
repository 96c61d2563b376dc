package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Flaws of the system that the governor was derived from, one test for each, by its number. Each
 * test fails on the behavior of that system. Subclasses supply the store.
 *
 * @since 0.1
 */
public abstract class SeedFlawsContract extends BudgetSuite {
  private static ModelBudget bounded(long requestsPerSecond, int concurrency) {
    ModelBudget.Builder budget = sonnet(Allocation.OFF).toBuilder();
    if (requestsPerSecond > 0) {
      budget.requests(Limit.perSecond(requestsPerSecond));
    }
    return budget.maxConcurrentRequests(concurrency).build();
  }

  /** Does it on every thread at the same time. */
  private static <T> List<T> together(List<Callable<T>> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(work.size());
    try {
      List<T> results = new ArrayList<>();
      for (Future<T> each : threads.invokeAll(work, 60, TimeUnit.SECONDS)) {
        results.add(each.get());
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  /** A refused job was queued again by its own retry, for a part of its tokens, forever. */
  @Test
  void flaw1_waiter_isQueuedOnce_forTheSameTokens() {
    BudgetHarness rig = open(Allocation.SCALE);
    rig.granted(300_000, P0);
    TokenDecision.Queued queued = rig.queued(240_000, P2);
    for (int second = 0; second < 23; second++) {
      advance(SECOND);
      assertThat(rig.isWaiting(queued)).isTrue();
      assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 1));
    }
    advance(SECOND);
    TokenDecision.Granted granted = granted(rig.poll(queued).orElseThrow());
    assertThat(granted.tokens()).isEqualTo(96_000);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
    advanceMillis(75_000);
    assertThat(rig.available()).isEqualTo(300_000);
    assertThat(rig.status().counts().tokensConsumed()).isEqualTo(396_000);
  }

  /** A head that could not be granted went to the tail, so small requests overtook it forever. */
  @Test
  void flaw2_aLargeHead_keepsItsPosition_whileSmallRequestsArrive() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    TokenDecision.Queued large = rig.queued(200_000, P1);
    List<TokenDecision.Queued> small = new ArrayList<>();
    for (int i = 0; i < 49; i++) {
      small.add(rig.queued(1_000, P1));
      advance(SECOND);
      assertThat(queued(rig.poll(large).orElseThrow()).queuePosition()).isEqualTo(1);
    }
    assertThat(small).allMatch(rig::isWaiting);
    advance(SECOND);
    granted(rig.poll(large).orElseThrow());
    advanceMillis(13_000);
    assertThat(small).noneMatch(rig::isWaiting);
  }

  /** A new request ignored the queue: a small P2 took the tokens that a queued P0 waited for. */
  @Test
  void flaw3_anArrival_doesNotOvertakeWaiters() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(290_000, P0);
    TokenDecision.Queued emergency = rig.queued(20_000, P0);
    TokenDecision.Queued small = rig.queued(1, P2);
    assertThat(small.remaining()).isEqualTo(10_000);
    assertThat(small.binding()).isEqualTo(BudgetDimension.WAITING_LIST);
    assertThat(rig.queued(1, P0).queuePosition()).isEqualTo(2);
    advanceMillis(2_500);
    granted(rig.poll(emergency).orElseThrow());
    assertThat(rig.isWaiting(small)).isTrue();
  }

  /** The grant of a queued job never reached its caller, which asked again: charged twice. */
  @Test
  void flaw4_aGrantReachesItsWaiter_andARetryIsChargedOnce() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
    TokenDecision.Queued queued = queued(rig.ask(request));
    CompletableFuture<Optional<TokenDecision>> told = rig.store.await(queued.ticket());
    assertThat(queued(rig.ask(request)).ticket()).isEqualTo(queued.ticket());
    advance(SECOND);
    TokenDecision.Granted granted = BudgetHarness.grantOf(told);
    assertThat(rig.ask(request)).isEqualTo(granted);
    assertThat(rig.status().counts().tokensConsumed()).isEqualTo(304_000);
    assertThat(rig.status().running()).isEqualTo(2);
  }

  /**
   * The level was read, compared and written in steps of their own: callers at the same time got
   * more than the level, and a refill undid their charges.
   */
  @Test
  void flaw5_concurrentCallers_getNoTokenBeyondTheLimit() throws Exception {
    BudgetConfig config = config(sonnet(Allocation.OFF));
    BudgetHarness one = open(config);
    BudgetHarness other = join(one, config);
    for (int round = 0; round < 4; round++) {
      List<Callable<Integer>> callers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        BudgetHarness rig = i % 2 == 0 ? one : other;
        callers.add(() -> grantsOf(rig, 100));
      }
      assertThat(together(callers).stream().mapToInt(Integer::intValue).sum())
          .isEqualTo(round == 0 ? 300 : 240);
      assertThat(one.available()).isZero();
      advance(MINUTE);
    }
  }

  private static int grantsOf(BudgetHarness rig, int calls) {
    int granted = 0;
    for (int i = 0; i < calls; i++) {
      if (rig.ask(1_000, P1) instanceof TokenDecision.Queued queued) {
        rig.cancel(queued);
      } else {
        granted++;
      }
    }
    return granted;
  }

  /** A request beyond the capacity was queued with a wait, and never granted. */
  @Test
  void flaw6_moreThanTheCapacity_isImpossibleAtOnce() {
    BudgetHarness rig = open(Allocation.CEILING);
    for (Map.Entry<String, Long> most :
        Map.of(P0, 300_000L, P1, 210_000L, P2, 120_000L).entrySet()) {
      assertThat(impossible(rig.ask(most.getValue() + 1, most.getKey())).message())
          .contains(String.valueOf(most.getValue()));
    }
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
    assertThat(rig.available()).isEqualTo(300_000);
  }

  /** A negative request added tokens, and an unknown class was granted while tokens lasted. */
  @Test
  void flaw7_badInput_isRefused_andChangesNothing() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(100_000, P0);
    for (long bad : new long[] {0, -1, -50_000, Long.MIN_VALUE}) {
      assertThatThrownBy(() -> rig.ask(bad, P1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(String.valueOf(bad));
    }
    for (String bad : new String[] {"P3", "p0_clinical", ""}) {
      assertThatThrownBy(() -> rig.ask(1, bad)).isInstanceOf(IllegalArgumentException.class);
    }
    assertThat(rig.available()).isEqualTo(200_000);
    assertThat(rig.status().counts().totalRequests()).isEqualTo(1);
  }

  /** Part of a request was charged while the provider counted all of it. */
  @Test
  void flaw8_usageBeyondAScaledGrant_isCharged() {
    BudgetHarness rig = open(Allocation.SCALE);
    TokenDecision.Granted told = rig.granted(10_000, P2);
    assertThat(told.tokens()).isEqualTo(4_000);
    assertThat(told.requestedTokens()).isEqualTo(10_000);
    long used = 0;
    // A caller that uses all tokens that it requested, though it was granted fewer.
    for (int step = 0; step < 240; step++) {
      TokenDecision outcome = rig.ask(10_000, P2);
      if (outcome instanceof TokenDecision.Granted granted) {
        used += 10_000;
        assertThat(rig.settle(granted, 10_000).orElseThrow())
            .extracting(TokenSettlement::reservedTokens, TokenSettlement::overusedTokens)
            .containsExactly(4_000L, 6_000L);
      } else if (outcome instanceof TokenDecision.Queued queued) {
        rig.cancel(queued);
      }
      advanceMillis(500);
    }
    assertThat(used).isBetween(750_000L, 300_000 + 2 * 240_000L + 6_000);
  }

  /** P2 was never granted while P0 used up the budget. */
  @Test
  void flaw9_aClassWithAMinimumShare_isNotStarved() {
    ModelBudget budget =
        sonnet(Allocation.OFF).toBuilder()
            .priorityClasses(SeedBudget.CLASSES)
            .minimumShares(Map.of(P2, 0.1))
            .build();
    BudgetHarness rig = open(budget);
    rig.granted(300_000, P0);
    CompletableFuture<Optional<TokenDecision>> batch = rig.waiter(request(20_000, P2));
    // Ten times the rate of the model, of the highest class.
    for (int second = 0; second < 10; second++) {
      for (int i = 0; i < 10; i++) {
        rig.queued(4_000, P0);
      }
      advance(SECOND);
    }
    // The share had accrued before: 20,000 at the rate of the model.
    assertThat(BudgetHarness.grantOf(batch).tokens()).isEqualTo(20_000);
    assertThat(rig.line().get(P0)).isBetween(90, 96);
  }

  /** Requests left the queue by a grant only, and the queue was unbounded. */
  @Test
  void flaw10_waiters_canCancelTimeOutAndBeRefused() {
    BudgetConfig config =
        config(Map.of(MODEL, sonnet(Allocation.OFF)), rules(3, Duration.ofSeconds(30)));
    BudgetHarness rig = open(config);
    rig.granted(300_000, P0);
    TokenDecision.Queued canceled = rig.queued(200_000, P1);
    TokenDecision.Queued late =
        queued(rig.ask(request(200_000, P1).withMaxWait(Duration.ofSeconds(5))));
    CompletableFuture<Optional<TokenDecision>> told = rig.store.await(late.ticket());
    TokenDecision.Queued abandoned = rig.queued(200_000, P1);
    assertThat(refused(rig.ask(1, P0)).reason()).isEqualTo(TokenDecision.Reason.TOO_MANY_WAITERS);
    assertThat(rig.cancel(canceled)).isTrue();
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 2, P2, 0));
    advanceMillis(5_000);
    assertThat(BudgetHarness.refusalOf(told)).isEqualTo(TokenDecision.Reason.TIMEOUT);
    advanceMillis(25_000);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
    assertThat(refused(rig.poll(abandoned).orElseThrow()).reason())
        .isEqualTo(TokenDecision.Reason.ABANDONED);
    assertThat(rig.available()).isEqualTo(120_000);
  }

  /**
   * The wait ignored earlier waiters, and refills came by the second: a first retry was too early.
   */
  @Test
  void flaw11_eta_countsEarlierWaiters_andIsExact() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    List<TokenDecision.Queued> all = new ArrayList<>();
    for (int i = 1; i <= 7; i++) {
      TokenDecision.Queued queued = rig.queued(100, i % 2 == 0 ? P0 : P1);
      assertThat(queued.retryAfter()).hasValue(Duration.ofMillis(25));
      all.add(queued);
    }
    // P0 is before P1: three of them, then four.
    assertThat(all.get(5).eta()).hasValue(Duration.ofMillis(75));
    TokenDecision.Queued last = queued(rig.poll(all.get(6)).orElseThrow());
    assertThat(last.queuePosition()).isEqualTo(7);
    assertThat(last.eta()).hasValue(Duration.ofMillis(175));
    advance(Duration.ofMillis(175).minus(TICK));
    assertThat(rig.isWaiting(last)).isTrue();
    advance(TICK);
    granted(rig.poll(last).orElseThrow());
  }

  /** The clients' clocks decided the refill: a clock set back, or ahead, minted tokens. */
  @Test
  void flaw12_aClockThatStepsBack_mintsNoTokens() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    advanceMillis(10_000);
    for (int i = 0; i < 10; i++) {
      assertThat(rig.available()).isEqualTo(40_000);
      fixture().setClock(Duration.ofHours(-1));
      assertThat(rig.available()).isEqualTo(40_000);
      fixture().setClock(Duration.ofHours(1));
    }
    advance(SECOND);
    assertThat(rig.granted(44_000, P0).remaining()).isZero();
  }

  /** The status showed the level at the last request. */
  @Test
  void flaw13_status_isCurrent() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    assertThat(rig.status().utilizationPct()).isEqualTo("100.00");
    advanceMillis(500);
    assertThat(rig.available()).isEqualTo(2_000);
    advance(MINUTE);
    assertThat(rig.available()).isEqualTo(242_000);
    assertThat(rig.status().utilizationPct()).isEqualTo("19.33");
  }

  /** Every internal retry of a queued job was one more request, and one more rejection. */
  @Test
  void flaw14_aQueuedRequest_isCountedOnce() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P0);
    TokenRequest request = request(200_000, P1).withIdempotencyKey("k");
    rig.ask(request);
    for (int second = 0; second < 50; second++) {
      advance(SECOND);
      // Goes first; the other is looked at once more.
      rig.granted(100, P0);
      rig.ask(request);
    }
    advance(MINUTE);
    GovernorStatus.Counts counts = rig.status().counts();
    assertThat(counts.totalRequests()).isEqualTo(52);
    assertThat(counts.acceptedRequests()).isEqualTo(51);
    assertThat(counts.rejectedRequests()).isEqualTo(1);
    assertThat(counts.tokensConsumed()).isEqualTo(300_000 + 200_000 + 50 * 100);
  }

  /** Two managers in one process had a budget each. */
  @Test
  void flaw15_twoProcessesOfOneStore_shareBudgetAndWaitingList() {
    BudgetConfig config = config(sonnet(Allocation.OFF));
    BudgetHarness one = open(config);
    BudgetHarness other = join(one, config);
    TokenDecision.Granted granted = one.granted(200_000, P1);
    assertThat(other.granted(100_000, P1).remaining()).isZero();
    TokenDecision.Queued queued = other.queued(4_000, P1);
    assertThat(one.queued(4_000, P1).queuePosition()).isEqualTo(2);
    assertThat(one.standing(queued).queuePosition()).isEqualTo(1);
    CompletableFuture<Optional<TokenDecision>> waiter = one.store.await(queued.ticket());
    assertThat(other.settle(granted, 196_000).orElseThrow().refundedTokens()).isEqualTo(4_000);
    assertThat(BudgetHarness.grantOf(waiter).tokens()).isEqualTo(4_000);
  }

  /** Every replica drained the queue by its own timer, in a race with the others. */
  @Test
  void flaw16_concurrentDrains_grantEachWaiterOnce() throws Exception {
    BudgetConfig config = config(sonnet(Allocation.OFF));
    BudgetHarness one = open(config);
    BudgetHarness other = join(one, config);
    one.granted(300_000, P0);
    List<TokenDecision.Queued> line = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      line.add(one.queued(1_000, P1));
    }
    for (int tick = 1; tick <= line.size(); tick++) {
      advanceMillis(250);
      List<Callable<List<TokenDecision>>> replicas = new ArrayList<>();
      for (BudgetHarness each : List.of(one, other)) {
        replicas.add(() -> line.stream().map(ticket -> each.poll(ticket).orElseThrow()).toList());
      }
      Set<String> reservations = new HashSet<>();
      for (List<TokenDecision> seen : together(replicas)) {
        for (TokenDecision outcome : seen) {
          if (outcome instanceof TokenDecision.Granted granted) {
            reservations.add(granted.reservation());
          }
        }
      }
      assertThat(reservations).hasSize(tick);
    }
    assertThat(other.status().counts().tokensConsumed()).isEqualTo(330_000);
    assertThat(other.status().running()).isEqualTo(31);
  }

  /** Only tokens were limited, actual usage was ignored, and reservations were never released. */
  @Test
  void flaw17_requestsAndConcurrencyAreLimited_andUnusedTokensAreRefunded() {
    BudgetHarness often = open(bounded(2, 0));
    often.granted(1, P0);
    often.granted(1, P0);
    assertThat(often.queued(1, P0).binding()).isEqualTo(BudgetDimension.REQUESTS);
    BudgetHarness rig = open(bounded(0, 1));
    TokenDecision.Granted first = rig.granted(10_000, P0);
    TokenDecision.Queued next = rig.queued(1_000, P0);
    assertThat(next.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    // The call failed: nothing was used, and the slot is free.
    assertThat(rig.settle(first, 0).orElseThrow().refundedTokens()).isEqualTo(10_000);
    granted(rig.poll(next).orElseThrow());
    assertThat(rig.available()).isEqualTo(299_000);
    // The caller never settles: its reservation expires and frees the slot.
    TokenDecision.Queued last = rig.queued(1_000, P0);
    advance(Duration.ofMinutes(10));
    granted(rig.poll(last).orElseThrow());
    assertThat(rig.status().running()).isEqualTo(1);
  }
}
