package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Answers of a node during an outage, and the state of Redis afterwards. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class BudgetOutageTest {
  /** 1,000 tokens a second, in bursts of 1,000. */
  private static final ModelBudget BUDGET = SeedBudget.budget(60_000, 1_000).build();

  /** 60 tokens a minute, so that nothing accrues during a test. */
  private static final ModelBudget SLOW = SeedBudget.budget(60, 1_000).build();

  private final RedisServer redis = RedisServer.builder().data().start();
  private OutageRig rig;

  private OutageRig open(BudgetConfig config) {
    rig = OutageRig.local(redis.uri(), 1, config);
    return rig;
  }

  private OutageRig open() {
    return open(config(BUDGET));
  }

  @AfterEach
  void close() {
    if (rig != null) {
      rig.close();
    }
    redis.close();
  }

  private void startOutage() {
    redis.pause();
    until(
        "the loss",
        () -> {
          var unused = rig.store.tryAcquire(request(1_000_000));
          return rig.isLast("lost");
        });
  }

  private void endOutage() {
    redis.resume();
    rig.awaitReturned();
  }

  private static void assertAway(CompletableFuture<?> answer) {
    assertThatThrownBy(() -> get(answer))
        .isInstanceOf(RedisUnavailableException.class)
        .hasMessageContaining("Redis");
  }

  // ---- requests

  @Test
  void request_isDecidedByTheShare_fromEmpty_andNothingIsCharged() {
    open();
    rig.granted(1_000);
    redis.kill();
    rig.awaitLost();
    assertThat(rig.share).isEqualTo(1);
    TokenDecision.Denied refused = (TokenDecision.Denied) rig.ask(1_000);
    assertThat(refused.reason()).isEqualTo(TokenDecision.Reason.UNAVAILABLE);
    assertThat(refused.message()).contains("Redis");
    rig.awaitShare();
    assertThat(get(rig.store.tryAcquire(request(1_000)))).isEmpty();
    assertThat(rig.ask(1_001)).isInstanceOf(TokenDecision.Impossible.class);
    TokenDecision.Granted first = rig.grantedSoon(100);
    TokenDecision.Granted second = rig.grantedSoon(300);
    assertThat(get(rig.store.settle(first.reservation(), 40)))
        .hasValueSatisfying(settled -> assertThat(settled.refundedTokens()).isEqualTo(60));
    redis.restart();
    rig.awaitReturned();
    assertThat(rig.granted).hasValue(400);
    assertThat(rig.consumed()).isEqualTo(1_340);
    // Tokens have accrued since; the share was not charged.
    assertThat(rig.available()).isLessThan(600);
    assertThat(rig.running()).isEqualTo(2);
    TokenSettlement settled = get(rig.store.settle(second.reservation(), 100)).orElseThrow();
    assertThat(settled.reservedTokens()).isEqualTo(300);
    // Redis did not charge it.
    assertThat(settled.refundedTokens()).isZero();
    assertThat(rig.running()).isEqualTo(1);
    assertThat(get(rig.store.settle(first.reservation(), 1))).isEmpty();
    assertThat(get(rig.store.settle(second.reservation(), 1))).isEmpty();
  }

  @Test
  void closedMode_denies_untilRedisIsBack() {
    rig = OutageRig.open(redis.uri(), OutageMode.CLOSED, config(SLOW));
    TokenDecision.Granted before = rig.granted(100);
    startOutage();
    during(Duration.ofMillis(100));
    assertThat(rig.refused(1)).isEqualTo(TokenDecision.Reason.UNAVAILABLE);
    assertThat(get(rig.store.settle(before.reservation(), 30))).isPresent();
    assertThat(rig.available()).isNotNegative();
    endOutage();
    assertThat(rig.ask(1)).isInstanceOf(TokenDecision.Granted.class);
    assertThat(rig.consumed()).isEqualTo(31);
  }

  @Test
  void openMode_grantsWithoutACheck_andNeverCharges() {
    rig = OutageRig.open(redis.uri(), OutageMode.OPEN, config(SLOW));
    rig.granted(600);
    redis.kill();
    rig.awaitLost();
    TokenDecision.Granted settledNow = rig.granted(900);
    TokenDecision.Granted settledLater = rig.granted(900);
    assertThat(rig.ask(request(5).withIdempotencyKey("k")))
        .isEqualTo(rig.ask(request(5).withIdempotencyKey("k")));
    assertThat(get(rig.store.extend(settledNow.reservation()))).isTrue();
    assertThat(get(rig.store.settle(settledNow.reservation(), 10)))
        .hasValueSatisfying(settled -> assertThat(settled.refundedTokens()).isZero());
    redis.restart();
    rig.awaitReturned();
    assertThat(get(rig.store.settle(settledLater.reservation(), 10))).isPresent();
    assertThat(rig.consumed()).isEqualTo(600);
    assertThat(rig.running()).isEqualTo(1);
  }

  @Test
  void shares_ofIndivisibleLimits_grantNothing() {
    rig =
        OutageRig.local(
            redis.uri(), 3, config(BUDGET.toBuilder().maxConcurrentRequests(2).build()));
    startOutage();
    during(Duration.ofMillis(20));
    assertThat(rig.share).isBetween(0.33, 0.34);
    assertThat(rig.refused(1)).isEqualTo(TokenDecision.Reason.UNAVAILABLE);
    assertThat(get(rig.store.status()).models()).containsKey("sonnet");
  }

  @Test
  void oneOfTwo_hasHalf_fromEmpty() {
    rig = OutageRig.local(redis.uri(), 2, config(BUDGET));
    redis.kill();
    rig.awaitShare();
    assertThat(rig.share).isEqualTo(0.5);
    assertThat(rig.refused(501)).isEqualTo(TokenDecision.Reason.UNAVAILABLE);
    long from = System.nanoTime();
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(500);
    assertThat(get(rig.store.await(queued.ticket())))
        .containsInstanceOf(TokenDecision.Granted.class);
    assertThat(Duration.ofNanos(System.nanoTime() - from)).isGreaterThan(Duration.ofMillis(500));
    redis.restart();
    rig.awaitReturned();
    assertThat(rig.granted).hasValue(500);
    assertThat(rig.running()).isEqualTo(1);
  }

  @Test
  void concurrency_countsGrantsOfRedis() {
    open(config(BUDGET.toBuilder().maxConcurrentRequests(2).build()));
    TokenDecision.Granted before = rig.granted(10);
    startOutage();
    TokenDecision.Granted here = rig.grantedSoon(1);
    during(Duration.ofMillis(20));
    assertThat(get(rig.store.tryAcquire(request(1)))).isEmpty();
    TokenDecision.Queued waits = (TokenDecision.Queued) rig.ask(1);
    assertThat(waits.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    assertThat(get(rig.store.settle(before.reservation(), 10))).isPresent();
    assertThat(get(rig.store.poll(waits.ticket()))).containsInstanceOf(TokenDecision.Granted.class);
    assertThat(get(rig.store.tryAcquire(request(1)))).isEmpty();
    assertThat(get(rig.store.settle(here.reservation(), 1))).isPresent();
    rig.granted(1);
    endOutage();
    assertThat(rig.running()).isEqualTo(2);
  }

  @Test
  void unusedRequestsOfTheShare_areLost() {
    open(config(BUDGET.toBuilder().requests(Limit.perMinute(600)).build()));
    startOutage();
    for (int i = 0; i < 3; i++) {
      rig.grantedSoon(1);
    }
    endOutage();
    long left =
        get(rig.store.explain(request(1))).dimensions().stream()
            .filter(part -> part.dimension() == BudgetDimension.REQUESTS)
            .findFirst()
            .orElseThrow()
            .available();
    // The share could have granted ten per second since the outage began.
    assertThat(left).isBetween(500L, 597L);
  }

  @Test
  void key_findsItsGrant_beforeInAndAfterTheOutage() {
    open();
    TokenRequest early = request(10).withIdempotencyKey("early");
    TokenDecision before = rig.ask(early);
    startOutage();
    assertThat(rig.ask(early)).isEqualTo(before);
    assertThat(get(rig.store.find(early))).contains(before);
    TokenRequest keyed = request(20).withIdempotencyKey("k");
    assertAway(rig.store.find(keyed));
    TokenDecision.Granted granted = rig.grantedSoon(keyed);
    assertThat(rig.ask(keyed)).isEqualTo(granted);
    assertThat(get(rig.store.find(keyed))).contains(granted);
    endOutage();
    assertThat(((TokenDecision.Granted) rig.ask(keyed)).reservation())
        .isEqualTo(granted.reservation());
    assertThat(get(rig.store.settle(granted.reservation(), 20))).isPresent();
    assertThat(rig.ask(keyed)).isNotEqualTo(granted);
  }

  @Test
  void startWithoutRedis_decidesByTheShare_thenByRedis() {
    redis.kill();
    open();
    TokenDecision.Granted granted = rig.grantedSoon(100);
    CompletableFuture<Optional<TokenDecision>> nobodys =
        rig.store.await("t" + BudgetStoreSupport.tagOf("sonnet") + "-" + "ab".repeat(16));
    redis.restart();
    rig.awaitReturned();
    assertThat(get(nobodys)).isEmpty();
    assertThat(rig.granted).hasValue(100);
    assertThat(rig.running()).isEqualTo(1);
    assertThat(get(rig.store.settle(granted.reservation(), 100))).isPresent();
    assertThat(rig.events).containsExactly("lost", "returned");
  }

  @Test
  void unansweredRequest_takesNoTokensAndNoSlot() {
    open(config(SLOW));
    redis.pause();
    assertThat(rig.refused(500)).isEqualTo(TokenDecision.Reason.UNAVAILABLE);
    redis.resume();
    until("no slot is in use", () -> rig.running() == 0 && rig.available() == 1_000);
  }

  // ---- earlier grants

  @Test
  void settle_ofEarlierGrants_isStoredAndSentLater() {
    open(config(SLOW));
    TokenDecision.Granted first = rig.granted(400);
    TokenDecision.Granted second = rig.granted(200);
    OutageRig other = OutageRig.local(redis.uri(), 1, config(SLOW));
    try (other) {
      TokenDecision.Granted elsewhere = other.granted(100);
      startOutage();
      TokenSettlement settled = get(rig.store.settle(first.reservation(), 150)).orElseThrow();
      assertThat(settled.reservedTokens()).isEqualTo(400);
      assertThat(settled.actualTokens()).isEqualTo(150);
      assertThat(settled.refundedTokens()).isZero();
      assertThat(get(rig.store.settle(first.reservation(), 1))).isEmpty();
      assertThatThrownBy(() -> get(rig.store.settle(elsewhere.reservation(), 40)))
          .isInstanceOf(RedisUnavailableException.class)
          .hasMessageContaining("stored here and sent later");
      assertThat(get(rig.store.extend(second.reservation()))).isTrue();
      assertAway(
          rig.store.extend("r" + BudgetStoreSupport.tagOf("sonnet") + "-" + "ab".repeat(16)));
      endOutage();
      until("all are settled", () -> rig.running() == 1);
      assertThat(rig.consumed()).isEqualTo(150 + 200 + 40);
    }
  }

  @Test
  void adjust_appliesToTheShare_andIsSentOnReturn() {
    open();
    startOutage();
    rig.awaitShare();
    get(rig.store.adjust("sonnet", new ProviderAdjustment(0.5, 0L, Duration.ofMinutes(1))));
    assertThat(((TokenDecision.Queued) rig.ask(1)).retryAfter().orElseThrow().toMillis())
        .isGreaterThan(30_000);
    assertThat(get(rig.store.status()).models().get("sonnet").targetTpm()).isEqualTo(60_000);
    endOutage();
    assertThat(((TokenDecision.Queued) rig.ask(1)).retryAfter().orElseThrow().toMillis())
        .isGreaterThan(30_000);
  }

  // ---- waiters

  private TokenDecision.Queued queued(TokenRequest request) {
    rig.granted(1_000);
    return (TokenDecision.Queued) rig.ask(request);
  }

  @Test
  void waiters_keepTheirPlaces_andNewOnesAreAdded() {
    open();
    TokenDecision.Queued first = queued(request(900));
    TokenDecision.Queued second = (TokenDecision.Queued) rig.ask(300);
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(first.ticket());
    assertThat(get(rig.store.poll(first.ticket()))).isPresent();
    startOutage();
    assertAway(rig.store.poll(first.ticket()));
    assertAway(rig.store.explain(request(1)));
    get(rig.store.reload(config(BUDGET)));
    CompletableFuture<Optional<TokenDecision>> late = rig.store.await(second.ticket());
    during(Duration.ofMillis(1_500));
    assertThat(waiter).isNotDone();
    assertThat(late).isNotDone();
    endOutage();
    assertThat(get(waiter)).containsInstanceOf(TokenDecision.Granted.class);
    assertThat(get(late)).containsInstanceOf(TokenDecision.Granted.class);
    assertThat(rig.events).containsExactly("lost", "returned");
  }

  @Test
  void cancel_deniesWaiters_andIsSentOnReturn() {
    open(config(SLOW));
    TokenDecision.Queued queued = queued(request(900));
    TokenDecision.Queued elsewhere = (TokenDecision.Queued) rig.ask(800);
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    assertThat(get(rig.store.poll(queued.ticket()))).isPresent();
    startOutage();
    assertThat(get(rig.store.cancel(queued.ticket()))).isTrue();
    assertThat(((TokenDecision.Denied) get(waiter).orElseThrow()).reason())
        .isEqualTo(TokenDecision.Reason.CANCELLED);
    assertAway(rig.store.cancel(elsewhere.ticket()));
    endOutage();
    assertThat(get(rig.store.poll(queued.ticket()))).isEmpty();
    assertThat(get(rig.store.poll(elsewhere.ticket()))).isEmpty();
  }

  @Test
  void deadline_isKept_withoutRedis() {
    open(config(SLOW));
    TokenDecision.Queued queued = queued(request(900).withMaxWait(Duration.ofMillis(700)));
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    assertThat(get(rig.store.poll(queued.ticket()))).isPresent();
    startOutage();
    TokenDecision.Denied refused = (TokenDecision.Denied) get(waiter).orElseThrow();
    assertThat(refused.reason()).isEqualTo(TokenDecision.Reason.TIMEOUT);
    assertThat(refused.tokens()).isEqualTo(900);
  }

  @Test
  void redisWithoutItsData_restartsEmpty_withoutTickets() {
    open();
    TokenDecision.Queued queued = queued(request(900));
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    redis.kill();
    rig.awaitLost();
    TokenDecision.Granted granted = rig.grantedSoon(50);
    redis.restartEmpty();
    rig.awaitReturned();
    assertThat(rig.available()).isLessThan(700);
    assertThat(get(waiter)).isEmpty();
    assertThat(get(rig.store.settle(granted.reservation(), 50))).isPresent();
  }

  @Test
  void close_deniesWaiters_andEndsTheShare() {
    open(config(SLOW));
    TokenDecision.Queued queued = queued(request(900));
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    assertThat(get(rig.store.poll(queued.ticket()))).isPresent();
    startOutage();
    rig.awaitShare();
    rig.close();
    assertThat(((TokenDecision.Denied) get(waiter).orElseThrow()).reason())
        .isEqualTo(TokenDecision.Reason.CLOSED);
    assertThatThrownBy(() -> rig.ask(1)).isInstanceOf(IllegalStateException.class);
  }
}
