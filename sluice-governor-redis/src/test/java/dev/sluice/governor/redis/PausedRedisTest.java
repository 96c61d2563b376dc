package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.load.LoadThreads;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Redis is stopped by a signal while callers wait: limits and priorities hold, then and after. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class PausedRedisTest {
  private static final String P0 = "P0_clinical";
  private static final String P2 = "P2_batch";
  private static final long BURST = 6_000;
  private static final long PER_SECOND = 2_000;
  private static final ModelBudget BUDGET = SeedBudget.budget(60 * PER_SECOND, BURST).build();

  /** The longest delay between a grant and its delivery to a waiter. */
  private static final long NOTICE_NANOS = 150_000_000;

  private final RedisServer redis = RedisServer.builder().data().start();
  private final GrantLedger ledger = new GrantLedger();
  private OutageRig rig;

  @AfterEach
  void close() {
    if (rig != null) {
      rig.close();
    }
    redis.close();
  }

  private static TokenRequest request(String priority, long tokens) {
    return TokenRequest.of("sonnet", tokens).withPriorityClass(priority);
  }

  private CompletableFuture<Optional<TokenDecision>> await(
      TokenDecision outcome, Runnable granted) {
    CompletableFuture<Optional<TokenDecision>> waiter =
        rig.store.await(((TokenDecision.Queued) outcome).ticket());
    var unused =
        waiter.thenAccept(
            said -> {
              if (said.orElse(null) instanceof TokenDecision.Granted grant) {
                long now = System.nanoTime();
                ledger.granted(now - NOTICE_NANOS, now, grant.tokens());
                granted.run();
              }
            });
    return waiter;
  }

  private void askForP2() {
    long from = System.nanoTime();
    Optional<TokenDecision> outcome = get(rig.store.tryAcquire(request(P2, 100)));
    if (outcome.orElse(null) instanceof TokenDecision.Granted granted) {
      ledger.granted(from, System.nanoTime(), granted.tokens());
    }
  }

  /** Drains the budget, queues 60 times 300, and stops Redis for 3 s while P2 asks all the time. */
  @Test
  void stoppedWhileManyWait_noWindowHasMoreThanTheLimit() {
    rig = OutageRig.local(redis.uri(), 1, config(BUDGET));
    long from = System.nanoTime();
    rig.granted(BURST);
    ledger.granted(from, System.nanoTime(), BURST);
    List<CompletableFuture<Optional<TokenDecision>>> waiters = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      waiters.add(await(rig.ask(request(OutageRig.P1, 300)), () -> {}));
    }
    assertThat(get(rig.store.status()).models().get("sonnet").queueLengths())
        .hasEntrySatisfying(OutageRig.P1, waiting -> assertThat(waiting).isGreaterThan(40));
    try (LoadThreads threads = new LoadThreads()) {
      threads.start(1_000_000, this::askForP2);
      redis.pause();
      during(Duration.ofSeconds(3));
      redis.resume();
      rig.awaitReturned();
      waiters.forEach(
          each -> assertThat(get(each)).containsInstanceOf(TokenDecision.Granted.class));
      during(Duration.ofSeconds(2));
    }
    long excess = ledger.excess(BURST, PER_SECOND);
    System.out.printf(
        "stopped Redis: %d tokens, by the share %d, excess %d%n",
        ledger.tokens(), rig.granted.get(), excess);
    assertThat(excess).isLessThanOrEqualTo(0);
    // From 1.5 s after the last heartbeat until Redis is back, by the rate.
    assertThat(rig.granted.get()).isBetween(600L, 6_000L);
    assertThat(get(rig.store.status()).models().get("sonnet").audit().errorTokens()).isZero();
  }

  @Test
  void inAnOutage_requestsAreQueued_andHigherPrioritiesGoFirst() {
    rig = OutageRig.local(redis.uri(), 1, config(BUDGET));
    rig.granted(BURST);
    Queue<String> order = new ConcurrentLinkedQueue<>();
    List<CompletableFuture<Optional<TokenDecision>>> waiters = new ArrayList<>();
    redis.pause();
    rig.awaitLost();
    until("the share decides", () -> rig.ask(request(P2, 6_000)) instanceof TokenDecision.Queued);
    // The first blocks its class; these two are granted in order.
    for (int i = 0; i < 8; i++) {
      waiters.add(await(rig.ask(request(P2, 500)), () -> order.add(P2)));
    }
    for (int i = 0; i < 8; i++) {
      TokenDecision outcome = rig.ask(request(P0, 500));
      assertThat(outcome).isInstanceOf(TokenDecision.Queued.class);
      waiters.add(await(outcome, () -> order.add(P0)));
    }
    until("all of P0 went", () -> order.stream().filter(P0::equals).count() == 8);
    assertThat(List.copyOf(order).subList(0, 8)).containsOnly(P0);
    assertThat(rig.isLast("lost")).isTrue();
    redis.resume();
    rig.awaitReturned();
    // Requests that were queued in the outage continue to wait in Redis.
    waiters.forEach(each -> assertThat(get(each)).containsInstanceOf(TokenDecision.Granted.class));
    assertThat(rig.running()).isEqualTo(1 + 16 + 1);
  }

  @Test
  void ticketsFromBefore_areGrantedByTheShare_inOrder_andOnce() {
    rig = OutageRig.local(redis.uri(), 1, config(BUDGET));
    rig.granted(BURST);
    Queue<Integer> order = new ConcurrentLinkedQueue<>();
    List<CompletableFuture<Optional<TokenDecision>>> waiters = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      int number = i;
      waiters.add(await(rig.ask(request(OutageRig.P1, 1_500)), () -> order.add(number)));
    }
    get(rig.store.status());
    redis.pause();
    rig.awaitLost();
    int before = order.size();
    until("the share grants", () -> order.size() >= before + 2);
    redis.resume();
    rig.awaitReturned();
    waiters.forEach(each -> assertThat(get(each)).containsInstanceOf(TokenDecision.Granted.class));
    assertThat(List.copyOf(order)).isSorted().hasSize(12);
    until("each has one slot", () -> rig.running() == 13);
    for (CompletableFuture<Optional<TokenDecision>> each : waiters) {
      String reservation = ((TokenDecision.Granted) get(each).orElseThrow()).reservation();
      assertThat(get(rig.store.settle(reservation, 1_500))).isPresent();
    }
    assertThat(rig.running()).isEqualTo(1);
  }

  @Test
  void ticketMadeInTheOutage_isPolledAndCancelled_thenAndAfter() {
    rig = OutageRig.local(redis.uri(), 1, config(SeedBudget.budget(60, 1_000).build()));
    rig.granted(1_000);
    redis.pause();
    rig.awaitLost();
    TokenDecision[] asked = new TokenDecision[1];
    until(
        "a place",
        () -> {
          asked[0] = rig.ask(request(OutageRig.P1, 900));
          return asked[0] instanceof TokenDecision.Queued;
        });
    TokenDecision.Queued first = (TokenDecision.Queued) asked[0];
    TokenDecision.Queued second = (TokenDecision.Queued) rig.ask(request(OutageRig.P1, 800));
    assertThat(second.queuePosition()).isEqualTo(2);
    assertThat(get(rig.store.poll(second.ticket()))).containsInstanceOf(TokenDecision.Queued.class);
    assertThat(get(rig.store.cancel(first.ticket()))).isTrue();
    redis.resume();
    rig.awaitReturned();
    TokenDecision.Queued after =
        (TokenDecision.Queued) get(rig.store.poll(second.ticket())).orElseThrow();
    assertThat(after.queuePosition()).isEqualTo(1);
    assertThat(get(rig.store.poll(first.ticket()))).isEmpty();
    assertThat(get(rig.store.cancel(second.ticket()))).isTrue();
  }
}
