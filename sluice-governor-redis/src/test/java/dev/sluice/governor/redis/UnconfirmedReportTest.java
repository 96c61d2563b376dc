package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A second outage that begins before Redis has confirmed the report of the first. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class UnconfirmedReportTest {
  private static final ModelBudget BUDGET =
      SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build();
  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(30);
  private static final TokenRequest KEYED = request(10).withIdempotencyKey("k");

  private final RedisServer redis = RedisServer.builder().data().start();
  private final TcpProxy proxy = TcpProxy.to(redis);
  private final OutageRig rig = OutageRig.local(proxy.uri(), 1, config(BUDGET, IDLE_TIMEOUT));

  @AfterEach
  void close() {
    rig.close();
    proxy.close();
    redis.close();
  }

  private void cutOff() {
    proxy.refuse();
    proxy.cut();
    rig.awaitShare();
  }

  /** The first return fails, because Redis refuses the report, and another outage starts. */
  private void failToReturn() {
    redis.command("ACL", "SETUSER", "default", "-zadd");
    proxy.heal();
    until(
        "the return begins",
        () -> rig.store.explain(request(1)).handle((said, failure) -> failure != null).join());
    cutOff();
  }

  private void endOutage() {
    redis.command("ACL", "SETUSER", "default", "+zadd");
    proxy.heal();
    rig.awaitReturned();
  }

  private static String reservationOf(TokenDecision.Queued queued) {
    return queued.ticket().replaceFirst("t", "r");
  }

  private void assertHasOneSlot(String reservation) {
    during(Duration.ofMillis(500));
    assertThat(rig.running()).isEqualTo(1);
    assertThat(get(rig.store.settle(reservation, 10))).isPresent();
    during(Duration.ofMillis(500));
    assertThat(rig.running()).isZero();
  }

  @Test
  void unclaimedGrant_isFoundByItsKey_andKeepsItsSlot() {
    cutOff();
    TokenDecision.Granted running = rig.grantedSoon(10);
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(KEYED);
    assertThat(get(rig.store.settle(running.reservation(), 10))).isPresent();
    until("the share grants the ticket", () -> rig.running() == 1);
    failToReturn();
    assertThat(rig.running()).isEqualTo(1);
    TokenDecision.Granted granted = (TokenDecision.Granted) rig.ask(KEYED);
    assertThat(granted.reservation()).isEqualTo(reservationOf(queued));
    endOutage();
    assertHasOneSlot(granted.reservation());
  }

  @Test
  void unclaimedGrant_settledInTheNextOutage_holdsNoSlot() {
    cutOff();
    TokenDecision.Granted running = rig.grantedSoon(10);
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(KEYED);
    assertThat(get(rig.store.settle(running.reservation(), 10))).isPresent();
    until("the share grants the ticket", () -> rig.running() == 1);
    failToReturn();
    assertThat(get(rig.store.poll(queued.ticket())).orElseThrow().isGranted()).isTrue();
    assertThat(get(rig.store.settle(reservationOf(queued), 10))).isPresent();
    endOutage();
    during(Duration.ofMillis(500));
    assertThat(rig.running()).isZero();
  }

  @Test
  void ticketThatWaits_keepsItsPlace_andIsGrantedOnce() {
    cutOff();
    TokenDecision.Granted running = rig.grantedSoon(10);
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(KEYED);
    failToReturn();
    TokenDecision.Queued later = (TokenDecision.Queued) rig.ask(10);
    assertThat(later.queuePosition()).isEqualTo(2);
    assertThat(get(rig.store.settle(running.reservation(), 10))).isPresent();
    until(
        "the share grants the ticket",
        () -> get(rig.store.poll(queued.ticket())).orElseThrow().isGranted());
    assertThat(rig.ask(KEYED))
        .isInstanceOfSatisfying(
            TokenDecision.Granted.class,
            granted -> assertThat(granted.reservation()).isEqualTo(reservationOf(queued)));
    get(rig.store.cancel(later.ticket()));
    endOutage();
    assertHasOneSlot(reservationOf(queued));
  }
}
