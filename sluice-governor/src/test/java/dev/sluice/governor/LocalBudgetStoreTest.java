package dev.sluice.governor;

import static dev.sluice.governor.Desk.MINUTE;
import static dev.sluice.governor.Desk.MS;
import static dev.sluice.governor.Desk.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a store does beyond asking and settling. */
class LocalBudgetStoreTest {
  private static final String P0 = "P0_clinical";
  private static final String P1 = "P1_user";
  private static final String P2 = "P2_batch";
  private static final DeskRules RULES =
      new DeskRules(20, Duration.ofSeconds(30), Duration.ofMinutes(10), 2, Duration.ofMinutes(1));

  private final VirtualTimer timer = new VirtualTimer();
  private final ModelBudget budget = ModelBudget.of(240_000, 300_000, Allocation.OFF);
  private final BudgetStore store =
      LocalBudgetStore.inMemory(timer).open(config(Map.of("m", budget)), BudgetListener.NONE);

  private static BudgetConfig config(Map<String, ModelBudget> models) {
    return new BudgetConfig(models, RULES, HealthRules.DEFAULTS, Map.of(), List.of());
  }

  @AfterEach
  void close() {
    store.close();
  }

  private static TokenRequest of(long tokens, String priority) {
    return TokenRequest.of("m", tokens, priority);
  }

  private Outcome request(TokenRequest request) {
    return store.request(request).join();
  }

  private Outcome.Granted granted(TokenRequest request) {
    return (Outcome.Granted) request(request);
  }

  private Outcome.Queued queued(TokenRequest request) {
    return (Outcome.Queued) request(request);
  }

  private GovernorStatus.Model status() {
    return store.status().join().buckets().get("m");
  }

  // ---- explain and try

  @Test
  void explain_saysWhatWouldHappen_andChangesNothing() {
    Explanation free = store.explain(of(1_000, P1)).join();
    assertThat(free.verdict()).isEqualTo(Explanation.Verdict.GRANTED);
    assertThat(free.binding()).isEqualTo(Dimension.NONE);
    request(of(298_000, P0));
    queued(of(10_000, P0));
    GovernorStatus.Model before = status();
    Explanation waits = store.explain(of(4_000, P2)).join();
    assertThat(waits.verdict()).isEqualTo(Explanation.Verdict.QUEUED);
    assertThat(waits.binding()).isEqualTo(Dimension.TOKENS);
    assertThat(waits.queuePosition()).isEqualTo(2);
    assertThat(waits.waitMs()).isEqualTo(500);
    assertThat(waits.etaMs()).isEqualTo(3_000);
    assertThat(waits.dimensions())
        .containsExactly(new Explanation.Part(Dimension.TOKENS, 300_000, 2_000, 4_000, 500));
    Explanation behind = store.explain(of(1_000, P1)).join();
    assertThat(behind.binding()).isEqualTo(Dimension.LINE);
    assertThat(behind.waitMs()).isZero();
    assertThat(store.explain(of(300_001, P1)).join().verdict())
        .isEqualTo(Explanation.Verdict.REFUSED);
    assertThat(status().metrics()).isEqualTo(before.metrics());
    assertThat(status().queueLengths()).isEqualTo(before.queueLengths());
  }

  @Test
  void explain_namesEveryDimension() {
    ModelBudget all =
        new ModelBudget(
            60_000,
            10_000,
            1,
            10,
            1,
            Allocation.CEILING,
            ModelBudget.USUAL_CLASSES,
            Map.of(),
            Map.of("t", new ModelBudget.TenantBudget(600, 500, 1)),
            false);
    store.reload(config(Map.of("m", all))).join();
    granted(of(400, P1).withTenant("t"));
    Explanation explained = store.explain(of(400, P2).withTenant("t")).join();
    assertThat(explained.dimensions().stream().map(Explanation.Part::dimension))
        .containsExactly(
            Dimension.TOKENS,
            Dimension.CLASS,
            Dimension.TENANT,
            Dimension.REQUESTS,
            Dimension.REQUESTS,
            Dimension.CONCURRENCY);
    // A slot does not come with time, so nobody knows when.
    assertThat(explained.binding()).isEqualTo(Dimension.CONCURRENCY);
    assertThat(explained.dimensions().get(5).waitMs()).isEqualTo(-1);
    assertThat(explained.dimensions().get(2).waitMs()).isEqualTo(30_000);
  }

  @Test
  void tryNow_isGranted_orNothingHappened() {
    assertThat(store.tryNow(of(300_000, P1)).join()).isPresent();
    assertThat(store.tryNow(of(1, P1)).join()).isEmpty();
    assertThat(store.tryNow(of(300_001, P1)).join()).isEmpty();
    assertThat(status().metrics().totalRequests()).isEqualTo(1);
    assertThat(status().queueLengths()).containsEntry(P1, 0);
  }

  @Test
  void keyOfAnotherRequest_isRefused() {
    TokenRequest first = of(1_000, P1).withIdempotencyKey("k");
    Outcome granted = request(first);
    assertThat(store.find(first).join()).contains(granted);
    assertThat(store.find(first.withTenant("other")).join()).isEmpty();
    assertThatThrownBy(() -> request(of(2_000, P1).withIdempotencyKey("k")))
        .hasCauseInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("it was of 1000 tokens as P1_user, not of 2000 as P1_user");
  }

  // ---- tickets

  @Test
  void waiterThatGoesAway_leavesItsTicket_asIfPolledThen() {
    request(of(300_000, P0));
    String ticket = queued(of(300_000, P1)).ticket();
    CompletableFuture<Optional<Outcome>> waiter = store.await(ticket);
    timer.advance(20 * SECOND);
    waiter.cancel(false);
    timer.advance(20 * SECOND);
    assertThat(store.poll(ticket).join()).containsInstanceOf(Outcome.Queued.class);
    store.await(ticket).cancel(false);
    timer.advance(30 * SECOND);
    assertThat(((Outcome.Refused) store.poll(ticket).join().orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.ABANDONED);
    assertThat(status().queueLengths()).containsEntry(P1, 0);
  }

  @Test
  void attendedTicket_isNotMissed_howeverLongItTakes() {
    request(of(300_000, P0));
    CompletableFuture<Optional<Outcome>> waiter = store.await(queued(of(240_000, P1)).ticket());
    CompletableFuture<Optional<Outcome>> gone = store.await(queued(of(240_000, P1)).ticket());
    timer.advance(MINUTE);
    assertThat(waiter.join()).containsInstanceOf(Outcome.Granted.class);
    assertThat(gone.cancel(false)).isTrue();
  }

  @Test
  void grantToAWaiterThatHasJustGone_goesBack() {
    request(of(300_000, P0));
    String ticket = queued(of(4_000, P1)).ticket();
    CompletableFuture<Optional<Outcome>> gone = store.await(ticket);
    // Completed behind the desk's back, as if both happened in the same moment.
    gone.obtrudeValue(Optional.empty());
    timer.advance(SECOND);
    assertThat(status().running()).isEqualTo(2);
    timer.advance(30 * SECOND);
    assertThat(status().running()).isEqualTo(1);
    assertThat(status().available()).isEqualTo(31 * 4_000);
    assertThat(store.poll(ticket).join()).isEmpty();
  }

  @Test
  void grantThatWasPolledAsItsWaiterWent_staysClaimed() {
    Deque<Runnable> untold = new ArrayDeque<>();
    VirtualTimer late = VirtualTimer.telling(untold::add);
    try (BudgetStore slow =
        LocalBudgetStore.inMemory(late).open(config(Map.of("m", budget)), BudgetListener.NONE)) {
      slow.request(of(300_000, P0)).join();
      String ticket = ((Outcome.Queued) slow.request(of(4_000, P1)).join()).ticket();
      CompletableFuture<Optional<Outcome>> waiter = slow.await(ticket);
      late.advance(SECOND);
      // It is granted, and nobody was told yet.
      waiter.cancel(false);
      Outcome.Granted claimed = (Outcome.Granted) slow.poll(ticket).join().orElseThrow();
      untold.forEach(Runnable::run);
      late.advance(MINUTE);
      assertThat(slow.settle(claimed.reservation(), 4_000).join()).isPresent();
    }
  }

  @Test
  void oneWrongFigure_closesNoModelForYears() {
    String reservation = granted(of(1, P1)).reservation();
    assertThat(store.settle(reservation, 1_000_000_000_000L).join()).isPresent();
    assertThat(status().available()).isEqualTo(-300_000);
    timer.advance(75 * SECOND);
    assertThat(status().available()).isZero();
  }

  @Test
  void requestThatIsRefused_doesNotKeepWhatHasHappenedMeanwhile() {
    request(of(300_000, P0));
    TokenRequest late = of(8_000, P1).withDeadline(Duration.ofSeconds(1));
    CompletableFuture<Optional<Outcome>> waiter = store.await(queued(late).ticket());
    timer.skip(SECOND);
    assertThatThrownBy(() -> request(of(1, "P9"))).hasMessageContaining("P9");
    assertThat(waiter).isDone();
  }

  @Test
  void refusedWhileTheLineIsFull_isNoTurnOfItsTenant() {
    request(of(300_000, P0));
    for (int i = 0; i < 20; i++) {
      queued(of(1_000, P1).withTenant("noisy"));
    }
    for (int i = 0; i < 100; i++) {
      assertThat(request(of(50_000, P1).withTenant("quiet"))).isInstanceOf(Outcome.Refused.class);
    }
    timer.advance(250 * MS);
    // Its first turn is the next.
    assertThat(queued(of(1_000, P1).withTenant("quiet")).queuePosition()).isEqualTo(1);
  }

  // ---- the provider

  @Test
  void pause_holdsEverybody_andEnds() {
    store.adjust("m", new Adjustment(1, null, Duration.ofSeconds(2))).join();
    Outcome.Queued queued = queued(of(1_000, P0));
    assertThat(queued.binding()).isEqualTo(Dimension.PROVIDER);
    assertThat(queued.waitMs()).isEqualTo(2_000);
    assertThat(queued.etaMs()).isEqualTo(2_000);
    CompletableFuture<Optional<Outcome>> outcome = store.await(queued.ticket());
    timer.advance(2 * SECOND - 1);
    assertThat(outcome).isNotDone();
    timer.advance(1);
    assertThat(outcome.join()).containsInstanceOf(Outcome.Granted.class);
  }

  @Test
  void factor_slowsTheModel_andGoesBack() {
    request(of(300_000, P0));
    store.adjust("m", new Adjustment(0.5, null, Duration.ZERO)).join();
    timer.advance(10 * SECOND);
    // Half of the capacity is gone, and 2,000 a second come.
    assertThat(status().available()).isEqualTo(150_000 - 280_000);
    assertThat(queued(of(1_000, P0)).waitMs()).isEqualTo(65_500);
    store.adjust("m", new Adjustment(1, 15_000L, Duration.ZERO)).join();
    assertThat(status().available()).isEqualTo(14_000);
  }

  @Test
  void whatIsMoreThanASlowedModelHas_goesWhenThatIsFull() {
    store.adjust("m", new Adjustment(0.1, null, Duration.ZERO)).join();
    assertThat(request(of(200_000, P1))).isInstanceOf(Outcome.Granted.class);
    Outcome.Queued next = queued(of(200_000, P1));
    assertThat(next.waitMs()).isEqualTo(500_000);
    CompletableFuture<Optional<Outcome>> outcome = store.await(next.ticket());
    timer.advance(500 * SECOND - 1);
    assertThat(outcome).isNotDone();
    timer.advance(1);
    assertThat(outcome).isDone();
  }

  // ---- other rules

  @Test
  void reload_keepsLevels_lines_andReservations() {
    String reservation = granted(of(300_000, P0)).reservation();
    Outcome.Queued first = queued(of(8_000, P1));
    CompletableFuture<Optional<Outcome>> second = store.await(queued(of(8_000, P1)).ticket());
    store.reload(config(Map.of("m", ModelBudget.of(480_000, 400_000, Allocation.OFF)))).join();
    // 100,000 more at once by the larger burst; not one that is not configured.
    assertThat(second.join()).containsInstanceOf(Outcome.Granted.class);
    assertThat(store.poll(first.ticket()).join()).containsInstanceOf(Outcome.Granted.class);
    assertThat(status().available()).isEqualTo(84_000);
    assertThat(status().capacity()).isEqualTo(400_000);
    assertThat(store.settle(reservation, 100_000).join().orElseThrow().refundedTokens())
        .isEqualTo(200_000);
    assertThat(status().running()).isEqualTo(2);
  }

  @Test
  void reload_isNoRefill() {
    request(of(300_000, P0));
    for (int i = 0; i < 5; i++) {
      store.reload(config(Map.of("m", budget))).join();
    }
    store.reload(config(Map.of("other", budget))).join();
    store.reload(config(Map.of("m", budget))).join();
    assertThat(status().available()).isZero();
  }

  @Test
  void reload_refusesWhoeverCannotBeInLine() {
    String open = granted(of(300_000, P0)).reservation();
    CompletableFuture<Optional<Outcome>> large = store.await(queued(of(200_000, P1)).ticket());
    CompletableFuture<Optional<Outcome>> batch = store.await(queued(of(1_000, P2)).ticket());
    Map<String, Double> classes = new LinkedHashMap<>();
    classes.put(P0, 1.0);
    classes.put(P1, 1.0);
    ModelBudget smaller =
        new ModelBudget(
            240_000, 100_000, 0, 0, 0, Allocation.OFF, classes, Map.of(), Map.of(), false);
    store.reload(config(Map.of("m", smaller))).join();
    assertThat(((Outcome.Refused) large.join().orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.EXCEEDS_CAPACITY);
    assertThat(((Outcome.Refused) batch.join().orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.REMOVED);
    CompletableFuture<Optional<Outcome>> last = store.await(queued(of(1_000, P1)).ticket());
    store.reload(config(Map.of("other", budget))).join();
    assertThat(((Outcome.Refused) last.join().orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.REMOVED);
    assertThatThrownBy(() -> request(of(1, P1)))
        .hasMessageContaining("model must be one of [other]: m");
    // What was granted can be settled all the same.
    assertThat(store.settle(open, 1).join()).isPresent();
  }

  @Test
  void reload_isNoRefillOfRequests() {
    store.reload(config(Map.of("m", budget.withRequests(0, 100)))).join();
    for (int i = 0; i < 100; i++) {
      granted(of(1, P1));
    }
    store.reload(config(Map.of("m", budget.withRequests(200, 100)))).join();
    assertThat(queued(of(1, P1)).binding()).isEqualTo(Dimension.REQUESTS);
  }

  @Test
  void reload_ofWhatCannotBeKept_changesNothing() {
    Map<String, ModelBudget> bad = new LinkedHashMap<>();
    bad.put("m", ModelBudget.of(1, 1, Allocation.OFF));
    // No exact units for so many tokens at such a rate.
    bad.put("huge", ModelBudget.of(999_999_999_989L, 1_000_000_000_000L, Allocation.OFF));
    assertThatThrownBy(() -> store.reload(config(bad)).join())
        .hasCauseInstanceOf(IllegalArgumentException.class);
    assertThat(status().capacity()).isEqualTo(300_000);
  }

  @Test
  void drainBatch_letsOthersGetAWordIn_andGoesOn() {
    request(of(300_000, P0));
    CompletableFuture<?>[] crowd = new CompletableFuture<?>[10];
    for (int i = 0; i < crowd.length; i++) {
      crowd[i] = store.await(queued(of(400, P1)).ticket());
    }
    timer.advance(MINUTE);
    assertThat(crowd).allMatch(CompletableFuture::isDone);
  }

  @Test
  void close_tellsThoseInLine() throws Exception {
    request(of(300_000, P0));
    CompletableFuture<Optional<Outcome>> waiting = store.await(queued(of(1, P1)).ticket());
    store.close();
    assertThat(((Outcome.Refused) waiting.get(5, TimeUnit.SECONDS).orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.CLOSED);
    assertThatThrownBy(() -> request(of(1, P1))).hasMessageContaining("the governor is closed");
    assertThatThrownBy(() -> store.reload(config(Map.of("m", budget))).join())
        .hasMessageContaining("the governor is closed");
  }
}
