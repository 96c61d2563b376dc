package dev.sluice.governor;

import static dev.sluice.governor.Desk.MINUTE;
import static dev.sluice.governor.Desk.MS;
import static dev.sluice.governor.Desk.SECOND;
import static dev.sluice.governor.Rig.MODEL;
import static dev.sluice.governor.Rig.P0;
import static dev.sluice.governor.Rig.P1;
import static dev.sluice.governor.Rig.P2;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
 * What was wrong with the system that the governor was made from, one test a flaw, by its number.
 * Each fails on what that system did.
 */
class SeedFlawsTest {
  private static ModelBudget bounded(long requestsPerSecond, int concurrency) {
    return Rig.sonnet(Allocation.OFF)
        .withRequests(requestsPerSecond, 0)
        .withConcurrency(concurrency);
  }

  private static TokenRequest request(long tokens, String priority) {
    return TokenRequest.of(MODEL, tokens, priority);
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

  /** A refused job was queued again by its own retry, at a part of its tokens, for ever. */
  @Test
  void flaw1_whoWaits_isInLineOnce_andAsksForTheSame() {
    try (Rig rig = new Rig(Allocation.SCALE)) {
      rig.granted(300_000, P0);
      Outcome.Queued queued = rig.queued(240_000, P2);
      for (int second = 0; second < 23; second++) {
        rig.timer.advance(SECOND);
        assertThat(rig.isWaiting(queued)).isTrue();
        assertThat(rig.status().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 1));
      }
      rig.timer.advance(SECOND);
      Outcome.Granted granted = Rig.granted(rig.poll(queued).orElseThrow());
      assertThat(granted.tokens()).isEqualTo(96_000);
      assertThat(rig.status().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
      rig.timer.advance(75 * SECOND);
      assertThat(rig.available()).isEqualTo(300_000);
      assertThat(rig.status().metrics().tokensConsumed()).isEqualTo(396_000);
    }
  }

  /** A head that could not go went to the tail: small ones passed it for ever. */
  @Test
  void flaw2_aLargeHead_keepsItsPlace_whileSmallOnesCome() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P0);
      Outcome.Queued large = rig.queued(200_000, P1);
      List<Outcome.Queued> small = new ArrayList<>();
      for (int i = 0; i < 49; i++) {
        small.add(rig.queued(1_000, P1));
        rig.timer.advance(SECOND);
        assertThat(Rig.queued(rig.poll(large).orElseThrow()).queuePosition()).isEqualTo(1);
      }
      assertThat(small).allMatch(rig::isWaiting);
      rig.timer.advance(SECOND);
      Rig.granted(rig.poll(large).orElseThrow());
      rig.timer.advance(13 * SECOND);
      assertThat(small).noneMatch(rig::isWaiting);
    }
  }

  /** A new arrival never looked at the queue: a small P2 took what a queued P0 waited for. */
  @Test
  void flaw3_anArrival_doesNotOvertakeThoseInLine() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(290_000, P0);
      Outcome.Queued emergency = rig.queued(20_000, P0);
      Outcome.Queued small = rig.queued(1, P2);
      assertThat(small.remaining()).isEqualTo(10_000);
      assertThat(small.binding()).isEqualTo(Dimension.LINE);
      assertThat(rig.queued(1, P0).queuePosition()).isEqualTo(2);
      rig.timer.advance(2_500 * MS);
      Rig.granted(rig.poll(emergency).orElseThrow());
      assertThat(rig.isWaiting(small)).isTrue();
    }
  }

  /** A queued job was granted and nobody was told, while its caller asked again: charged twice. */
  @Test
  void flaw4_whoIsGranted_isTold_andARetryIsChargedOnce() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P0);
      TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
      Outcome.Queued queued = Rig.queued(rig.governor.request(request));
      CompletableFuture<Optional<Outcome>> told = rig.governor.await(queued.ticket());
      assertThat(Rig.queued(rig.governor.request(request)).ticket()).isEqualTo(queued.ticket());
      rig.timer.advance(SECOND);
      Outcome.Granted granted = Rig.granted(told.join().orElseThrow());
      assertThat(rig.governor.request(request)).isEqualTo(granted);
      assertThat(rig.status().metrics().tokensConsumed()).isEqualTo(304_000);
      assertThat(rig.status().running()).isEqualTo(2);
    }
  }

  /**
   * The level was read, compared and written in steps of their own: callers at the same time got
   * more than there was, and a refill undid what they took. Here many threads over two governors of
   * one store, in one process; that processes decide in one step as well is the contract of a store
   * that a fleet shares.
   */
  @Test
  void flaw5_callersAtTheSameTime_getNotOneTokenTooMuch() throws Exception {
    VirtualTimer timer = new VirtualTimer();
    BudgetConfig config = Rig.config(Rig.sonnet(Allocation.OFF));
    BudgetStore store = LocalBudgetStore.inMemory(timer).open(config, BudgetListener.NONE);
    try (Governor one = Governor.over(config, (unused, none) -> store);
        Governor other = Governor.over(config, (unused, none) -> store)) {
      for (int round = 0; round < 20; round++) {
        List<Callable<Integer>> callers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          Governor governor = i % 2 == 0 ? one : other;
          callers.add(
              () -> {
                int granted = 0;
                for (int j = 0; j < 100; j++) {
                  Outcome outcome = governor.request(MODEL, 1_000, P1);
                  if (outcome instanceof Outcome.Queued queued) {
                    governor.cancel(queued.ticket());
                  } else {
                    granted++;
                  }
                }
                return granted;
              });
        }
        assertThat(together(callers).stream().mapToInt(Integer::intValue).sum())
            .isEqualTo(round == 0 ? 300 : 240);
        assertThat(one.status().buckets().get(MODEL).available()).isZero();
        timer.advance(MINUTE);
      }
    }
  }

  /** More than the capacity was queued, with a wait that it never was granted after. */
  @Test
  void flaw6_moreThanEver_isRefusedAtOnce() {
    try (Rig rig = new Rig(Allocation.CEILING)) {
      for (Map.Entry<String, Long> most :
          Map.of(P0, 300_000L, P1, 210_000L, P2, 120_000L).entrySet()) {
        Outcome.Refused refused = Rig.refused(rig.ask(most.getValue() + 1, most.getKey()));
        assertThat(refused.reason()).isEqualTo(Outcome.Reason.EXCEEDS_CAPACITY);
        assertThat(refused.message()).contains(String.valueOf(most.getValue()));
      }
      assertThat(rig.status().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
      assertThat(rig.available()).isEqualTo(300_000);
    }
  }

  /** A negative request added tokens, and an unknown class was granted while there were any. */
  @Test
  void flaw7_badInput_isRefused_andChangesNothing() {
    try (Rig rig = new Rig(Allocation.OFF)) {
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
      assertThat(rig.status().metrics().totalRequests()).isEqualTo(1);
    }
  }

  /** A part of an ask was charged while the provider counted all of it. */
  @Test
  void flaw8_whatIsUsedBeyondAScaledGrant_isChargedAfterAll() {
    try (Rig rig = new Rig(Allocation.SCALE)) {
      Outcome.Granted told = rig.granted(10_000, P2);
      assertThat(told.tokens()).isEqualTo(4_000);
      assertThat(told.requestedTokens()).isEqualTo(10_000);
      long used = 0;
      // A caller that is told, and goes on to use all that it asked for.
      for (long time = 0; time < 10 * MINUTE; time += 100 * MS) {
        Outcome outcome = rig.ask(10_000, P2);
        if (outcome instanceof Outcome.Granted granted) {
          used += 10_000;
          assertThat(rig.governor.settle(granted.reservation(), 10_000).orElseThrow())
              .extracting(Settlement::reservedTokens, Settlement::overusedTokens)
              .containsExactly(4_000L, 6_000L);
        } else if (outcome instanceof Outcome.Queued queued) {
          rig.governor.cancel(queued.ticket());
        }
        rig.timer.advance(100 * MS);
      }
      assertThat(used).isBetween(2_300_000L, 300_000 + 10 * 240_000L + 6_000);
    }
  }

  /** P2 never went while P0 had more than enough to do. */
  @Test
  void flaw9_aClassWithAMinimumShare_isNotStarved() {
    try (Rig rig =
        new Rig(
            Rig.sonnet(Allocation.OFF).withClasses(ModelBudget.USUAL_CLASSES, Map.of(P2, 0.1)))) {
      rig.granted(300_000, P0);
      CompletableFuture<Optional<Outcome>> batch =
          rig.governor.await(rig.queued(20_000, P2).ticket());
      // Ten times what the model can do, of the highest class.
      for (int second = 0; second < 10; second++) {
        for (int i = 0; i < 10; i++) {
          rig.queued(4_000, P0);
        }
        rig.timer.advance(SECOND);
      }
      // The share had accrued before: 20,000 at the rate of the model.
      assertThat(Rig.granted(batch.join().orElseThrow()).tokens()).isEqualTo(20_000);
      assertThat(rig.status().queueLengths().get(P0)).isBetween(90, 96);
    }
  }

  /** Nothing ever left the queue but by a grant, and it had no end. */
  @Test
  void flaw10_whoWaits_canLeave_andHasADeadline_andTheLineAnEnd() {
    BudgetConfig config =
        Rig.config(Map.of(MODEL, Rig.sonnet(Allocation.OFF)), Rig.rules(3, Duration.ofSeconds(30)));
    try (Rig rig = new Rig(config)) {
      rig.granted(300_000, P0);
      Outcome.Queued cancelled = rig.queued(200_000, P1);
      Outcome.Queued late =
          Rig.queued(
              rig.governor.request(request(200_000, P1).withDeadline(Duration.ofSeconds(5))));
      CompletableFuture<Optional<Outcome>> told = rig.governor.await(late.ticket());
      Outcome.Queued abandoned = rig.queued(200_000, P1);
      assertThat(Rig.refused(rig.ask(1, P0)).reason()).isEqualTo(Outcome.Reason.LINE_FULL);
      assertThat(rig.governor.cancel(cancelled.ticket())).isTrue();
      assertThat(rig.status().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 2, P2, 0));
      rig.timer.advance(5 * SECOND);
      assertThat(Rig.refused(told.join().orElseThrow()).reason())
          .isEqualTo(Outcome.Reason.DEADLINE);
      rig.timer.advance(25 * SECOND);
      assertThat(rig.status().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
      assertThat(Rig.refused(rig.poll(abandoned).orElseThrow()).reason())
          .isEqualTo(Outcome.Reason.ABANDONED);
      assertThat(rig.available()).isEqualTo(120_000);
    }
  }

  /** The wait left out the line ahead, and refills came by the second: a first retry was early. */
  @Test
  void flaw11_theForecast_countsTheLine_andHoldsToTheNanosecond() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P0);
      List<Outcome.Queued> all = new ArrayList<>();
      for (int i = 1; i <= 7; i++) {
        Outcome.Queued queued = rig.queued(100, i % 2 == 0 ? P0 : P1);
        assertThat(queued.waitMs()).isEqualTo(25);
        all.add(queued);
      }
      // P0 is before P1: three of them, then four.
      assertThat(all.get(5).etaMs()).isEqualTo(75);
      Outcome.Queued last = Rig.queued(rig.poll(all.get(6)).orElseThrow());
      assertThat(last.queuePosition()).isEqualTo(7);
      assertThat(last.etaMs()).isEqualTo(175);
      rig.timer.advance(175 * MS - 1);
      assertThat(rig.isWaiting(last)).isTrue();
      rig.timer.advance(1);
      Rig.granted(rig.poll(last).orElseThrow());
    }
  }

  /** The clients' clocks decided what accrued: one that is set back, or ahead, made tokens. */
  @Test
  void flaw12_aClockThatGoesBack_makesNoTokens() {
    long[] now = {0};
    GovernorTimer timer =
        new GovernorTimer() {
          @Override
          public long now() {
            return now[0];
          }

          @Override
          public void after(long nanos, Runnable action) {}

          @Override
          public void execute(Runnable action) {
            action.run();
          }

          @Override
          public void close() {}
        };
    try (Governor governor = Governor.create(Rig.config(Rig.sonnet(Allocation.OFF)), timer)) {
      governor.request(MODEL, 300_000, P0);
      for (int i = 0; i < 100; i++) {
        now[0] = 10 * SECOND;
        assertThat(governor.status().buckets().get(MODEL).available()).isEqualTo(40_000);
        now[0] = -3_600 * SECOND;
        assertThat(governor.status().buckets().get(MODEL).available()).isEqualTo(40_000);
      }
      now[0] = 11 * SECOND;
      assertThat(Rig.granted(governor.request(MODEL, 44_000, P0)).remaining()).isZero();
    }
  }

  /** The status told what there was when somebody last asked for tokens. */
  @Test
  void flaw13_theStatus_isOfThisMoment() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P0);
      assertThat(rig.status().utilizationPct()).isEqualTo("100.00");
      rig.timer.advance(500 * MS);
      assertThat(rig.available()).isEqualTo(2_000);
      rig.timer.advance(MINUTE);
      assertThat(rig.available()).isEqualTo(242_000);
      assertThat(rig.status().utilizationPct()).isEqualTo("19.33");
    }
  }

  /** Every internal retry of a queued job was one more request, and one more rejection. */
  @Test
  void flaw14_whoWaits_isCountedOnce() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P0);
      TokenRequest request = request(200_000, P1).withIdempotencyKey("k");
      rig.governor.request(request);
      for (int second = 0; second < 50; second++) {
        rig.timer.advance(SECOND);
        // Goes first; the other is looked at once more.
        rig.granted(100, P0);
        rig.governor.request(request);
      }
      rig.timer.advance(MINUTE);
      Counts counts = rig.status().metrics();
      assertThat(counts.totalRequests()).isEqualTo(52);
      assertThat(counts.acceptedRequests()).isEqualTo(51);
      assertThat(counts.rejectedRequests()).isEqualTo(1);
      assertThat(counts.tokensConsumed()).isEqualTo(300_000 + 200_000 + 50 * 100);
    }
  }

  /** The rate of rejections was of all time: one bad hour was an alert for days. */
  @Test
  void flaw14_theRateOfRejections_isThatOfTheLastMinute() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P0);
      for (int i = 0; i < 30; i++) {
        rig.queued(1_000, P1);
      }
      rig.timer.advance(10 * SECOND);
      assertThat(rig.governor.alerts())
          .extracting(Alert::kind)
          .contains(Alert.Kind.HIGH_REJECTION_RATE);
      rig.timer.advance(2 * MINUTE);
      for (int i = 0; i < 30; i++) {
        rig.granted(1_000, P1);
      }
      rig.timer.advance(10 * SECOND);
      // Half of all that ever asked was rejected, and of late nobody.
      assertThat(rig.status().metrics().rejectedRequests()).isEqualTo(30);
      assertThat(rig.governor.alerts()).isEmpty();
    }
  }

  /**
   * Two managers in one process had a budget each. Two governors of one store have one; two
   * processes, when the store is one that a fleet shares.
   */
  @Test
  void flaw15_twoGovernorsOfOneStore_haveOneBudget() {
    VirtualTimer timer = new VirtualTimer();
    BudgetConfig config = Rig.config(Rig.sonnet(Allocation.OFF));
    BudgetStore store = LocalBudgetStore.inMemory(timer).open(config, BudgetListener.NONE);
    try (Governor one = Governor.over(config, (unused, none) -> store);
        Governor other = Governor.over(config, (unused, none) -> store)) {
      String reservation = Rig.granted(one.request(MODEL, 200_000, P1)).reservation();
      assertThat(Rig.granted(other.request(MODEL, 100_000, P1)).remaining()).isZero();
      Outcome.Queued queued = Rig.queued(other.request(MODEL, 4_000, P1));
      assertThat(Rig.queued(one.request(MODEL, 4_000, P1)).queuePosition()).isEqualTo(2);
      assertThat(Rig.queued(one.poll(queued.ticket()).orElseThrow()).queuePosition()).isEqualTo(1);
      assertThat(other.settle(reservation, 196_000).orElseThrow().refundedTokens())
          .isEqualTo(4_000);
      Rig.granted(one.poll(queued.ticket()).orElseThrow());
    }
  }

  /**
   * Every replica drained the queue by its own timer, in a race with the others. Here two governors
   * of one store, from two threads; between processes it is the store's.
   */
  @Test
  void flaw16_howeverManyDrainTheLine_everybodyGoesOnce() throws Exception {
    VirtualTimer timer = new VirtualTimer();
    BudgetConfig config = Rig.config(Rig.sonnet(Allocation.OFF));
    BudgetStore store = LocalBudgetStore.inMemory(timer).open(config, BudgetListener.NONE);
    try (Governor one = Governor.over(config, (unused, none) -> store);
        Governor other = Governor.over(config, (unused, none) -> store)) {
      one.request(MODEL, 300_000, P0);
      List<String> tickets = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        tickets.add(Rig.queued(one.request(MODEL, 1_000, P1)).ticket());
      }
      for (int tick = 1; tick <= 100; tick++) {
        timer.advance(250 * MS);
        List<Callable<List<Outcome>>> replicas = new ArrayList<>();
        for (Governor each : List.of(one, other)) {
          replicas.add(() -> tickets.stream().map(id -> each.poll(id).orElseThrow()).toList());
        }
        Set<String> reservations = new HashSet<>();
        for (List<Outcome> seen : together(replicas)) {
          for (Outcome outcome : seen) {
            if (outcome instanceof Outcome.Granted granted) {
              reservations.add(granted.reservation());
            }
          }
        }
        assertThat(reservations).hasSize(tick);
      }
      Counts counts = other.status().buckets().get(MODEL).metrics();
      assertThat(counts.tokensConsumed()).isEqualTo(400_000);
      assertThat(other.status().buckets().get(MODEL).running()).isEqualTo(101);
    }
  }

  /** Only tokens were counted, what was used in the end was not, and nothing was ever released. */
  @Test
  void flaw17_requestsAndSlotsCountToo_andWhatWasNotUsedComesBack() {
    try (Rig rig = new Rig(bounded(2, 0))) {
      rig.granted(1, P0);
      rig.granted(1, P0);
      assertThat(rig.queued(1, P0).binding()).isEqualTo(Dimension.REQUESTS);
    }
    try (Rig rig = new Rig(bounded(0, 1))) {
      Outcome.Granted first = rig.granted(10_000, P0);
      Outcome.Queued next = rig.queued(1_000, P0);
      assertThat(next.binding()).isEqualTo(Dimension.CONCURRENCY);
      // The call failed: nothing was used, and the slot is free.
      assertThat(rig.governor.settle(first.reservation(), 0).orElseThrow().refundedTokens())
          .isEqualTo(10_000);
      Rig.granted(rig.poll(next).orElseThrow());
      assertThat(rig.available()).isEqualTo(299_000);
      // The caller is gone: its slot comes back by itself.
      Outcome.Queued last = rig.queued(1_000, P0);
      rig.timer.advance(10 * MINUTE);
      Rig.granted(rig.poll(last).orElseThrow());
      assertThat(rig.status().running()).isEqualTo(1);
    }
  }
}
