package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.governor.redis.internal.store.ModelScripts;
import dev.sluice.governor.redis.internal.store.ReplyMapper;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Redis loses the state of a model, or is unavailable for longer than reservations live. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class LostRedisDataTest {
  /** 60 tokens a minute, so that nothing accrues during a test. */
  private static final ModelBudget SLOW = SeedBudget.budget(60, 1_000).build();

  /** 1,000 tokens a second, in bursts of 1,000. */
  private static final ModelBudget FAST = SeedBudget.budget(60_000, 1_000).build();

  private final RedisServer redis = RedisServer.start();
  private final List<OutageRig> rigs = new ArrayList<>();

  private OutageRig open(int nodes, BudgetConfig config) {
    OutageRig rig = OutageRig.local(redis.uri(), nodes, config);
    rigs.add(rig);
    return rig;
  }

  private OutageRig openWithLongTimeout(int nodes, BudgetConfig config) {
    OutageRig rig = OutageRig.withLongTimeout(redis.uri(), nodes, config);
    rigs.add(rig);
    return rig;
  }

  @AfterEach
  void close() {
    rigs.forEach(OutageRig::close);
    redis.close();
  }

  private static BudgetConfig shortLived(ModelBudget budget, Duration timeout) {
    return shortLived(budget, timeout, WaitingListConfig.builder().build().ticketIdleTimeout());
  }

  private static BudgetConfig shortLived(
      ModelBudget budget, Duration timeout, Duration idleTimeout) {
    return BudgetConfig.builder()
        .models(Map.of("sonnet", budget))
        .waitingList(
            WaitingListConfig.builder()
                .ticketIdleTimeout(idleTimeout)
                .reservationTimeout(timeout)
                .build())
        .build();
  }

  // ---- the level of new state

  @Test
  void lostState_foundByANewNodeFirst_restartsEmpty() {
    OutageRig old = open(2, config(SLOW));
    old.granted(1_000);
    awaitListener();
    redis.command("FLUSHALL");
    OutageRig fresh = open(2, config(SLOW));
    assertThat(fresh.available()).isLessThan(10);
    assertThat(fresh.ask(900)).isInstanceOf(TokenDecision.Queued.class);
    assertThat(old.ask(900)).isInstanceOf(TokenDecision.Queued.class);
  }

  /** A tenant that the new state does not know may have spent all of its budget. */
  @Test
  void lostState_restartsEmptyForTenants() {
    ModelBudget.TenantBudget slow = new ModelBudget.TenantBudget(Limit.perMinute(60, 100), 1);
    BudgetConfig config = config(FAST.toBuilder().tenants(Map.of("t", slow, "*", slow)).build());
    OutageRig old = open(2, config);
    for (String tenant : List.of("t", "other")) {
      assertThat(old.ask(request(100).withTenant(tenant)))
          .isInstanceOf(TokenDecision.Granted.class);
    }
    awaitListener();
    redis.command("FLUSHALL");
    OutageRig fresh = open(2, config);
    until("the model has tokens again", () -> fresh.available() > 500);
    for (String tenant : List.of("t", "other")) {
      assertThat(ofTenant(fresh, tenant)).as(tenant).isLessThan(60);
    }
  }

  private static long ofTenant(OutageRig rig, String tenant) {
    return get(rig.store.explain(request(1).withTenant(tenant))).dimensions().stream()
        .filter(each -> each.dimension() == BudgetDimension.TENANT)
        .mapToLong(TokenExplanation.DimensionStatus::available)
        .findFirst()
        .orElseThrow();
  }

  private void awaitListener() {
    awaitListeners(1);
  }

  private void awaitListeners(long nodes) {
    String channel = ModelKeys.of("token-governor:", "sonnet").channel();
    until(
        "it is subscribed",
        () -> ((List<?>) redis.command("PUBSUB", "NUMSUB", channel)).get(1).equals(nodes));
  }

  @Test
  void nodeThatStartedWithoutRedis_createsEmptyState() {
    redis.kill();
    OutageRig fresh = open(1, config(SLOW));
    fresh.awaitLost();
    redis.restartEmpty();
    fresh.awaitReturned();
    assertThat(fresh.available()).isLessThan(10);
  }

  @Test
  void fullState_isEmptiedOnce_byANodeThatKnewOtherState() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        OutageRig old = OutageRig.local(proxy.uri(), 2, config(SLOW))) {
      old.granted(1_000);
      proxy.refuse();
      proxy.cut();
      old.awaitLost();
      redis.command("FLUSHALL");
      OutageRig fresh = open(2, config(SLOW));
      assertThat(fresh.available()).isGreaterThan(990);
      fresh.granted(100);
      proxy.heal();
      old.awaitReturned();
      assertThat(fresh.available()).isLessThan(10);
      assertThat(fresh.running()).isEqualTo(2);
    }
  }

  // ---- slots

  @Test
  void lostState_regainsTheGrantsOfEveryNode() {
    BudgetConfig config = config(FAST.toBuilder().maxConcurrentRequests(2).build());
    OutageRig one = open(2, config);
    OutageRig other = open(2, config);
    TokenDecision.Granted first = one.granted(10);
    TokenRequest keyed = request(10).withIdempotencyKey("k");
    TokenDecision.Granted second = (TokenDecision.Granted) other.ask(keyed);
    redis.kill();
    one.awaitLost();
    other.awaitLost();
    redis.restartEmpty();
    one.awaitReturned();
    other.awaitReturned();
    during(Duration.ofMillis(1_700));
    assertThat(one.running()).isEqualTo(2);
    assertThat(get(one.store.tryAcquire(request(1)))).isEmpty();
    assertThat(((TokenDecision.Granted) one.ask(keyed)).reservation())
        .isEqualTo(second.reservation());
    assertThat(get(other.store.settle(first.reservation(), 10))).isPresent();
    assertThat(get(one.store.settle(second.reservation(), 10))).isPresent();
    assertThat(one.running()).isZero();
  }

  @Test
  void flushedState_regainsGrants_beforeItGrants() {
    BudgetConfig config = config(FAST.toBuilder().maxConcurrentRequests(2).build());
    OutageRig one = open(2, config);
    OutageRig other = open(2, config);
    one.granted(10);
    TokenDecision.Granted second = other.granted(10);
    redis.command("FLUSHALL");
    TokenDecision.Queued queued = (TokenDecision.Queued) one.ask(1);
    CompletableFuture<Optional<TokenDecision>> waiter = one.store.await(queued.ticket());
    until("the other grant is restored", () -> one.running() == 2);
    during(Duration.ofMillis(1_700));
    assertThat(waiter).isNotDone();
    assertThat(get(other.store.settle(second.reservation(), 10))).isPresent();
    assertThat(get(waiter)).containsInstanceOf(TokenDecision.Granted.class);
  }

  @Test
  void grantSettledOrCancelledAtAnotherNode_isNotRestored() {
    BudgetConfig config = config(FAST.toBuilder().maxConcurrentRequests(1).build());
    OutageRig first = open(2, config);
    OutageRig other = open(2, config);
    awaitListeners(2);
    get(other.store.settle(first.granted(10).reservation(), 10));
    TokenRequest keyed = request(10).withIdempotencyKey("settled");
    TokenDecision.Granted deliveredByBoth = (TokenDecision.Granted) first.ask(keyed);
    assertThat(other.ask(keyed)).isInstanceOf(TokenDecision.Granted.class);
    get(other.store.settle(deliveredByBoth.reservation(), 10));
    String cancelled =
        ((TokenDecision.Granted) first.ask(request(10).withIdempotencyKey("cancelled")))
            .reservation();
    assertThat(get(other.store.cancel(cancelled.replaceFirst("r", "t")))).isTrue();
    awaitNotices(first, other);
    redis.command("FLUSHALL");
    assertThat(other.running()).isZero();
    assertThat(first.running()).isZero();
  }

  @Test
  void grantExtendedAtAnotherNode_isRestored() {
    BudgetConfig config = shortLived(FAST, Duration.ofSeconds(2));
    OutageRig first = openWithLongTimeout(2, config);
    OutageRig other = openWithLongTimeout(2, config);
    awaitListeners(2);
    TokenDecision.Granted granted = first.granted(10);
    extendFor(other, granted, Duration.ofMillis(2_500));
    redis.command("FLUSHALL");
    assertThat(first.running()).isEqualTo(1);
    assertThat(get(other.store.extend(granted.reservation()))).isTrue();
  }

  @Test
  void grantEndedByAShorterTimeout_isNotRestored() {
    OutageRig rig = openWithLongTimeout(1, config(FAST));
    rig.granted(1);
    get(rig.store.reload(shortLived(FAST, Duration.ofMillis(100))));
    rig.granted(1);
    during(Duration.ofMillis(200));
    redis.command("FLUSHALL");
    assertThat(rig.running()).isZero();
  }

  @Test
  void grantThatRedisHasEnded_isNotRestored() {
    OutageRig rig = openWithLongTimeout(1, config(FAST));
    String granted = rig.granted(10).reservation();
    String stateKey = ModelKeys.of("token-governor:", "sonnet").all()[0];
    assertThat(redis.command("HDEL", stateKey, "r" + ReplyMapper.idIn(granted))).isEqualTo(1L);
    assertThat(get(rig.store.extend(granted))).isFalse();
    redis.command("FLUSHALL");
    assertThat(rig.running()).isZero();
  }

  @Test
  void grantSettledAtAnotherNode_whileItIsRestored_holdsNoSlot() {
    String stateKey = ModelKeys.of("token-governor:", "sonnet").all()[0];
    try (TcpProxy proxy = TcpProxy.to(redis);
        OutageRig first = OutageRig.withLongTimeout(proxy.uri(), 2, config(FAST))) {
      OutageRig other = openWithLongTimeout(2, config(FAST));
      awaitListeners(2);
      TokenDecision.Granted granted = first.granted(10);
      // It creates new state, and then restores the grant.
      proxy.delay(Duration.ofMillis(300), Duration.ZERO);
      redis.command("FLUSHALL");
      CompletableFuture<?> joined = first.store.status();
      until("new state", () -> redis.command("EXISTS", stateKey).equals(1L));
      get(other.store.settle(granted.reservation(), 10));
      get(joined);
      until("it holds no slot", () -> other.running() == 0);
    }
  }

  /** Notices arrive in order: after that of the last settlement, all earlier ones have arrived. */
  private static void awaitNotices(OutageRig rig, OutageRig other) {
    TokenDecision.Granted running = other.granted(10);
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(10);
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    get(rig.store.poll(queued.ticket()));
    get(other.store.settle(running.reservation(), 10));
    TokenDecision.Granted last = (TokenDecision.Granted) get(waiter).orElseThrow();
    get(rig.store.settle(last.reservation(), 10));
  }

  @Test
  void lostState_regainsMoreThanOnePortion() {
    int many = 2 * ModelScripts.PORTION + 1;
    OutageRig rig = openWithLongTimeout(1, config(SeedBudget.budget(60_000, 10_000).build()));
    for (int sent = 0; sent < many; ) {
      List<CompletableFuture<TokenDecision>> asked = new ArrayList<>();
      for (; asked.size() < 50 && sent < many; sent++) {
        asked.add(rig.store.request(request(1)));
      }
      asked.forEach(each -> assertThat(get(each)).isInstanceOf(TokenDecision.Granted.class));
    }
    redis.command("FLUSHALL");
    until("all are restored", () -> rig.running() == many);
  }

  @Test
  void lostState_regainsTheAdjustment() {
    OutageRig rig = open(1, config(FAST));
    get(rig.store.adjust("sonnet", new ProviderAdjustment(0.5, null, Duration.ofMinutes(1))));
    redis.command("FLUSHALL");
    TokenExplanation explained = get(rig.store.explain(request(1)));
    assertThat(explained.retryAfter().orElseThrow().toMillis()).isGreaterThan(30_000);
    assertThat(explained.dimensions())
        .filteredOn(each -> each.dimension() == BudgetDimension.TOKENS)
        .extracting(TokenExplanation.DimensionStatus::capacity)
        .containsExactly(500L);
  }

  @Test
  void lostState_withTwoFactorsAtOnce_usesTheLast() {
    OutageRig rig = openWithLongTimeout(1, config(FAST));
    redis.command("FLUSHALL");
    CompletableFuture<Void> first =
        rig.store.adjust("sonnet", new ProviderAdjustment(1, null, Duration.ZERO));
    get(rig.store.adjust("sonnet", new ProviderAdjustment(0.1, null, Duration.ZERO)));
    get(first);
    assertThat(capacity(rig)).isEqualTo(100);
  }

  private static long capacity(OutageRig rig) {
    return get(rig.store.explain(request(1))).dimensions().stream()
        .filter(each -> each.dimension() == BudgetDimension.TOKENS)
        .mapToLong(TokenExplanation.DimensionStatus::capacity)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void lostState_regainsTheAdjustment_beforeTheGrants() {
    OutageRig rig = openWithLongTimeout(1, config(FAST));
    String id = ReplyMapper.idIn(rig.granted(1).reservation());
    get(rig.store.adjust("sonnet", new ProviderAdjustment(0.5, null, Duration.ofMinutes(1))));
    redis.command("CONFIG", "SET", "slowlog-log-slower-than", "0");
    redis.command("SLOWLOG", "RESET");
    redis.command("FLUSHALL");
    assertThat(rig.running()).isEqualTo(1);
    // The last call first.
    List<String> calls =
        ((List<?>) redis.command("SLOWLOG", "GET", "-1"))
            .stream()
                .map(Object::toString)
                .filter(each -> each.contains("EVALSHA"))
                .filter(each -> each.contains("adjust") || each.contains(id))
                .toList();
    assertThat(calls).hasSize(2);
    assertThat(calls.get(1)).contains("adjust");
  }

  // ---- extensions

  private void lose(OutageRig rig) {
    redis.pause();
    until(
        "the loss",
        () -> {
          var unused = rig.store.tryAcquire(request(1_000_000));
          return rig.isLast("lost");
        });
  }

  private static void extendFor(OutageRig rig, TokenDecision.Granted granted, Duration time) {
    long end = System.nanoTime() + time.toNanos();
    until(
        "time",
        () -> {
          assertThat(get(rig.store.extend(granted.reservation()))).isTrue();
          return System.nanoTime() - end >= 0;
        });
  }

  @Test
  void grantExtendedOverAnOutageLongerThanItsTimeout_keepsItsSlot() {
    OutageRig rig =
        open(
            1,
            shortLived(FAST.toBuilder().maxConcurrentRequests(1).build(), Duration.ofSeconds(3)));
    TokenDecision.Granted granted = rig.granted(10);
    lose(rig);
    extendFor(rig, granted, Duration.ofSeconds(4));
    redis.resume();
    rig.awaitReturned();
    assertThat(rig.running()).isEqualTo(1);
    assertThat(get(rig.store.tryAcquire(request(10)))).isEmpty();
    assertThat(get(rig.store.settle(granted.reservation(), 10))).isPresent();
    assertThat(rig.running()).isZero();
  }

  @Test
  void grantExtendedOverAnOutage_keepsItsSlotFromWaiters() {
    extendedOverAnOutage(WaitingListConfig.builder().build().ticketIdleTimeout());
  }

  @Test
  void grantExtendedOverAnOutage_keepsItsSlotFromWaiters_withAShortIdleTimeout() {
    extendedOverAnOutage(Duration.ofSeconds(2));
  }

  private void extendedOverAnOutage(Duration idleTimeout) {
    OutageRig rig =
        open(
            1,
            shortLived(
                FAST.toBuilder().maxConcurrentRequests(1).build(),
                Duration.ofSeconds(3),
                idleTimeout));
    TokenDecision.Granted granted = rig.granted(10);
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(10);
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    assertThat(get(rig.store.poll(queued.ticket()))).isPresent();
    lose(rig);
    extendFor(rig, granted, Duration.ofSeconds(4));
    redis.resume();
    rig.awaitReturned();
    get(rig.store.poll(queued.ticket()));
    assertThat(waiter).isNotDone();
    assertThat(rig.running()).isEqualTo(1);
    assertThat(get(rig.store.settle(granted.reservation(), 10))).isPresent();
    assertThat(get(waiter)).containsInstanceOf(TokenDecision.Granted.class);
  }

  @Test
  void grantExtendedTooLate_andSettled_isNotRestored() {
    OutageRig rig = open(1, config(FAST.toBuilder().maxConcurrentRequests(1).build()));
    settledAfterALateExtension(rig, granted -> get(rig.store.settle(granted.reservation(), 10)));
  }

  @Test
  void grantExtendedTooLate_andCancelled_isNotRestored() {
    OutageRig rig = open(1, config(FAST.toBuilder().maxConcurrentRequests(1).build()));
    settledAfterALateExtension(
        rig, granted -> get(rig.store.cancel(granted.reservation().replaceFirst("r", "t"))));
  }

  /** Extends one grant without an answer, which does not start an outage. */
  private void settledAfterALateExtension(OutageRig rig, Consumer<TokenDecision.Granted> ending) {
    TokenDecision.Granted granted =
        (TokenDecision.Granted) rig.ask(request(10).withIdempotencyKey("k"));
    redis.command("CLIENT", "PAUSE", "130", "ALL");
    assertThat(get(rig.store.extend(granted.reservation()))).isTrue();
    until("Redis answers", () -> redis.command("PING") != null);
    ending.accept(granted);
    // More than two heartbeats: stored settlements have been sent.
    during(Duration.ofMillis(2_500));
    assertThat(rig.running()).isZero();
  }

  @Test
  void grantRestored_andCancelledInAnOutage_holdsNoSlot() {
    OutageRig rig = open(1, config(FAST.toBuilder().maxConcurrentRequests(1).build()));
    TokenDecision.Granted running = rig.granted(10);
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(10);
    get(rig.store.settle(running.reservation(), 10));
    assertThat(get(rig.store.poll(queued.ticket())))
        .containsInstanceOf(TokenDecision.Granted.class);
    redis.command("FLUSHALL");
    until("it is restored", () -> rig.running() == 1);
    lose(rig);
    assertThat(get(rig.store.cancel(queued.ticket()))).isTrue();
    redis.resume();
    rig.awaitReturned();
    until("its slot is free", () -> rig.running() == 0);
  }
}
