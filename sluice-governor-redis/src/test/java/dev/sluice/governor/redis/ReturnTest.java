package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Reports of nodes after an outage, in any order. Reservations expire after ten minutes, so that
 * leaked slots show.
 */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ReturnTest {
  /** 1,000 tokens a second, in bursts of 1,000. */
  private static final ModelBudget BUDGET = SeedBudget.budget(60_000, 1_000).build();

  /** 10 tokens a second: an outage takes little of the burst of 1,000 from Redis. */
  private static final ModelBudget SLOW =
      SeedBudget.budget(600, 1_000).maxConcurrentRequests(1).build();

  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(1);

  private final RedisServer redis = RedisServer.builder().data().start();
  private final List<Node> nodes = new ArrayList<>();

  /** A node with a proxy of its own to Redis. */
  private record Node(TcpProxy proxy, OutageRig rig) {
    void cutOff() {
      proxy.refuse();
      proxy.cut();
      rig.awaitShare();
    }

    void comeBack() {
      proxy.heal();
      rig.awaitReturned();
    }
  }

  private Node open(int expected, ModelBudget budget) {
    TcpProxy proxy = TcpProxy.to(redis);
    Node node =
        new Node(proxy, OutageRig.local(proxy.uri(), expected, config(budget, IDLE_TIMEOUT)));
    nodes.add(node);
    return node;
  }

  @AfterEach
  void close() {
    nodes.forEach(node -> node.rig().close());
    nodes.forEach(node -> node.proxy().close());
    redis.close();
  }

  private static void awaitNothingRuns(OutageRig rig) {
    // A leaked slot would be in use for much longer.
    during(Duration.ofMillis(500));
    assertThat(rig.running()).isZero();
  }

  // ---- settlements before the report

  /** Redis answers, but refuses reports. */
  private void refuseReports(boolean refused) {
    redis.command("ACL", "SETUSER", "default", refused ? "-zadd" : "+zadd");
  }

  @Test
  void settledWhileTheReportIsRefused_holdsNoSlot() {
    Node node = open(1, BUDGET);
    node.cutOff();
    TokenDecision.Granted granted = node.rig().grantedSoon(10);
    refuseReports(true);
    node.proxy().heal();
    until(
        "the return begins",
        () ->
            node.rig().store.explain(request(1)).handle((said, failure) -> failure != null).join());
    assertThat(get(node.rig().store.settle(granted.reservation(), 10))).isPresent();
    refuseReports(false);
    node.rig().awaitReturned();
    awaitNothingRuns(node.rig());
  }

  /** Connecting, loading the scripts and probing come before the report, and take a second. */
  @Test
  void settledOrCancelledBeforeTheReport_holdsNoSlot_evenAfterDataLoss() {
    Node node = open(1, BUDGET);
    node.cutOff();
    TokenDecision.Granted settled = node.rig().grantedSoon(10);
    TokenDecision.Granted cancelled = node.rig().grantedSoon(request(10).withIdempotencyKey("k"));
    node.proxy().heal();
    node.proxy().delay(Duration.ofMillis(150), Duration.ofMillis(150));
    // The share answers at once.
    until("the return begins", () -> !node.rig().store.explain(request(1)).isDone());
    assertThat(get(node.rig().store.settle(settled.reservation(), 10))).isPresent();
    assertThat(get(node.rig().store.cancel(cancelled.reservation().replaceFirst("r", "t"))))
        .isTrue();
    node.rig().awaitReturned();
    node.proxy().delay(Duration.ZERO, Duration.ZERO);
    awaitNothingRuns(node.rig());
    redis.command("FLUSHALL");
    awaitNothingRuns(node.rig());
  }

  @Test
  void settledInASecondOutage_beforeTheFirstWasReported_holdsNoSlot() {
    Node node = open(1, BUDGET);
    node.cutOff();
    TokenDecision.Granted granted = node.rig().grantedSoon(10);
    refuseReports(true);
    node.proxy().heal();
    until(
        "the return begins",
        () ->
            node.rig().store.explain(request(1)).handle((said, failure) -> failure != null).join());
    node.cutOff();
    assertThat(get(node.rig().store.settle(granted.reservation(), 10))).isPresent();
    refuseReports(false);
    node.comeBack();
    awaitNothingRuns(node.rig());
  }

  @Test
  void settledAtAnotherNodeThatIsOut_andReturnsFirst_holdsNoSlot() {
    Node one = open(2, BUDGET);
    Node other = open(2, BUDGET);
    one.cutOff();
    other.cutOff();
    TokenDecision.Granted granted = other.rig().grantedSoon(10);
    assertThatThrownBy(() -> get(one.rig().store.settle(granted.reservation(), 10)))
        .isInstanceOf(RedisUnavailableException.class)
        .hasMessageContaining("stored here and sent later");
    one.comeBack();
    other.comeBack();
    awaitNothingRuns(one.rig());
    // The node that granted it does not count it either.
    other.cutOff();
    assertThat(other.rig().running()).isZero();
  }

  @Test
  void settledAtAConnectedNode_beforeTheReport_holdsNoSlot() {
    Node one = open(2, BUDGET);
    Node other = open(2, BUDGET);
    other.cutOff();
    TokenDecision.Granted granted = other.rig().grantedSoon(10);
    assertThat(get(one.rig().store.settle(granted.reservation(), 10))).isEmpty();
    other.comeBack();
    awaitNothingRuns(one.rig());
  }

  @Test
  void cancelledAtAnotherNode_beforeTheReport_isNotQueuedOrRestored() {
    Node one = open(2, BUDGET.toBuilder().maxConcurrentRequests(2).build());
    Node other = open(2, BUDGET.toBuilder().maxConcurrentRequests(2).build());
    other.cutOff();
    TokenRequest keyed = request(10).withIdempotencyKey("k");
    TokenDecision.Granted granted = other.rig().grantedSoon(keyed);
    TokenDecision.Queued queued = (TokenDecision.Queued) other.rig().ask(10);
    String ticket = granted.reservation().replaceFirst("r", "t");
    assertThat(get(one.rig().store.cancel(ticket))).isFalse();
    assertThat(get(one.rig().store.cancel(queued.ticket()))).isFalse();
    other.comeBack();
    awaitNothingRuns(one.rig());
    assertThat(get(one.rig().store.poll(queued.ticket()))).isEmpty();
  }

  /** The node misses the notice of the settlement, and does not count as absent yet. */
  @Test
  void extendedAfterItWasSettledAtAnotherNode_holdsNoSlot() {
    try (OutageRig one = OutageRig.withLongTimeout(redis.uri(), 2, config(BUDGET, IDLE_TIMEOUT))) {
      Node other = open(2, BUDGET);
      TokenDecision.Granted granted = other.rig().granted(10);
      loseAnswers(other);
      assertThat(get(one.store.settle(granted.reservation(), 10))).isPresent();
      assertThat(get(other.rig().store.extend(granted.reservation()))).isTrue();
      other.rig().awaitShare();
      other.proxy().cut();
      other.comeBack();
      awaitNothingRuns(one);
    }
  }

  // ---- unclaimed grants

  @Test
  void unclaimedGrantReturnedByRedis_takesNoSlotInTheNextOutage() {
    Node node = open(1, BUDGET.toBuilder().maxConcurrentRequests(1).build());
    node.cutOff();
    TokenDecision.Granted running = node.rig().grantedSoon(10);
    assertThat(node.rig().ask(10)).isInstanceOf(TokenDecision.Queued.class);
    assertThat(get(node.rig().store.settle(running.reservation(), 10))).isPresent();
    until("the share grants the ticket", () -> node.rig().running() == 1);
    node.comeBack();
    until("Redis returns the grant", () -> node.rig().running() == 0);
    node.cutOff();
    assertThat(node.rig().running()).isZero();
  }

  // ---- tickets that the share has granted

  @Test
  void ticketGrantedByTheShare_keepsItsSlot_whenASettlementFreesOneInRedis() {
    Node node = open(1, SLOW);
    TokenDecision.Granted running = node.rig().granted(10);
    CompletableFuture<Optional<TokenDecision>> waiter = awaited(node, request(10));
    node.cutOff();
    assertThat(get(node.rig().store.settle(running.reservation(), 10))).isPresent();
    TokenDecision.Granted granted = (TokenDecision.Granted) get(waiter).orElseThrow();
    node.comeBack();
    assertKeepsItsSlot(node, granted);
  }

  @Test
  void ticketGrantedByTheShare_keepsItsSlot_whenAReloadFreesOneInRedis() {
    Node node = open(1, SLOW);
    TokenDecision.Granted running = node.rig().granted(10);
    CompletableFuture<Optional<TokenDecision>> waiter = awaited(node, request(10));
    node.cutOff();
    get(
        node.rig()
            .store
            .reload(config(SLOW.toBuilder().maxConcurrentRequests(2).build(), IDLE_TIMEOUT)));
    TokenDecision.Granted granted = (TokenDecision.Granted) get(waiter).orElseThrow();
    node.comeBack();
    assertThat(get(node.rig().store.settle(running.reservation(), 10))).isPresent();
    assertKeepsItsSlot(node, granted);
  }

  private static CompletableFuture<Optional<TokenDecision>> awaited(
      Node node, TokenRequest request) {
    TokenDecision.Queued queued = (TokenDecision.Queued) node.rig().ask(request);
    CompletableFuture<Optional<TokenDecision>> waiter = node.rig().store.await(queued.ticket());
    // Answered after the other: its place is known from here on.
    assertThat(get(node.rig().store.poll(queued.ticket()))).isPresent();
    return waiter;
  }

  private static void assertKeepsItsSlot(Node node, TokenDecision.Granted granted) {
    assertThat(node.rig().running()).isEqualTo(1);
    // By then an unclaimed grant has been returned.
    during(IDLE_TIMEOUT.multipliedBy(3));
    assertThat(node.rig().running()).isEqualTo(1);
    assertThat(node.rig().consumed()).isEqualTo(20);
    assertThat(get(node.rig().store.settle(granted.reservation(), 10))).isPresent();
    awaitNothingRuns(node.rig());
  }

  // ---- lost answers

  @Test
  void keyedRequestWhoseAnswerWasLost_thenSettledByTheShare_holdsNoSlot() {
    Node node = open(1, BUDGET);
    TokenRequest keyed = request(10).withIdempotencyKey("k");
    loseAnswers(node);
    assertThat(node.rig().ask(keyed)).isInstanceOf(Denied.class);
    node.rig().awaitLost();
    TokenDecision.Granted granted = node.rig().grantedSoon(keyed);
    assertThat(get(node.rig().store.settle(granted.reservation(), 10))).isPresent();
    assertThat(reservationsInRedis()).isEqualTo(1);
    node.proxy().cut();
    node.comeBack();
    awaitNothingRuns(node.rig());
  }

  /** Returns the number of reservations in Redis. */
  private long reservationsInRedis() {
    String stateKey = ModelKeys.of("token-governor:", "sonnet").all()[0];
    return ((List<?>) redis.command("HKEYS", stateKey))
        .stream().filter(field -> field.toString().matches("r[0-9a-f]{32}")).count();
  }

  @Test
  void ticketWhoseDeadlineCame_beforeTheAnswerThatItWasGranted_holdsNoSlot() {
    Node one = open(2, BUDGET.toBuilder().maxConcurrentRequests(1).build());
    Node other = open(2, BUDGET.toBuilder().maxConcurrentRequests(1).build());
    TokenDecision.Granted running = one.rig().granted(10);
    CompletableFuture<Optional<TokenDecision>> waiter =
        awaited(one, request(10).withMaxWait(Duration.ofSeconds(1)));
    loseAnswers(one);
    assertThat(get(other.rig().store.settle(running.reservation(), 10))).isPresent();
    assertThat(((Denied) get(waiter).orElseThrow()).reason())
        .isEqualTo(TokenDecision.Reason.TIMEOUT);
    one.rig().awaitLost();
    one.proxy().cut();
    one.comeBack();
    during(IDLE_TIMEOUT.multipliedBy(3));
    assertThat(other.rig().running()).isZero();
  }

  @Test
  void ticketWhoseWaiterLeft_beforeTheAnswerThatItWasGranted_holdsNoSlot() {
    Node one = open(2, BUDGET.toBuilder().maxConcurrentRequests(1).build());
    Node other = open(2, BUDGET.toBuilder().maxConcurrentRequests(1).build());
    TokenDecision.Granted running = one.rig().granted(10);
    CompletableFuture<Optional<TokenDecision>> waiter = awaited(one, request(10));
    loseAnswers(one);
    assertThat(get(other.rig().store.settle(running.reservation(), 10))).isPresent();
    // A check claims the grant.
    during(Duration.ofMillis(700));
    one.proxy().blackHole();
    waiter.cancel(false);
    one.rig().awaitLost();
    one.proxy().cut();
    one.comeBack();
    during(IDLE_TIMEOUT.multipliedBy(3));
    assertThat(other.rig().running()).isZero();
  }

  private static void loseAnswers(Node node) {
    node.proxy().delay(Duration.ZERO, Duration.ofMinutes(1));
  }

  @Test
  void keyedRequestWhoseAnswerWasLost_andThatTheShareDidNotDecide_isFoundAgain() {
    Node node = open(1, BUDGET);
    TokenRequest keyed = request(10).withIdempotencyKey("k");
    loseAnswers(node);
    assertThat(node.rig().ask(keyed)).isInstanceOf(Denied.class);
    node.rig().awaitShare();
    node.proxy().cut();
    node.comeBack();
    assertThat(reservationsInRedis()).isEqualTo(1);
    TokenDecision.Granted granted = (TokenDecision.Granted) node.rig().ask(keyed);
    assertThat(reservationsInRedis()).isEqualTo(1);
    assertThat(get(node.rig().store.settle(granted.reservation(), 10))).isPresent();
    awaitNothingRuns(node.rig());
  }
}
