package dev.sluice.governor.redis.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.SimulatedGovernor;
import dev.sluice.redis.simulation.RedisScripts;
import dev.sluice.redis.simulation.Scheduler;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The checks of {@link GovernorSimulation} find a single broken guarantee: runs without a failure
 * are changed in one place each, and checked again.
 */
@Tag("any-jdk")
final class GovernorCheckerTest {
  private static final long SEED = 3;
  private static final long SECOND = 1_000_000_000;

  private RedisServer server;
  private RedisScripts scripts;
  private GovernorPlan plan;
  private GovernorSimulation simulation;

  @BeforeEach
  void run() {
    server = RedisServer.start();
    scripts = new RedisScripts(server.port());
    plan = GovernorPlan.random(SEED);
    simulation = new GovernorSimulation(SEED, plan, scripts, false);
    simulation.run();
    assertThat(simulation.failures()).isEmpty();
  }

  @AfterEach
  void close() throws IOException {
    scripts.close();
    server.close();
  }

  private void assertFinds(String kind) {
    simulation.check();
    assertThat(simulation.failures()).extracting(GovernorSimulation::kindOf).contains(kind);
  }

  private CallerLedger.Grant grant(long nanos, long tokens) {
    GovernorNode node = simulation.livingNodes().get(0);
    CallerLedger.Grant grant =
        new CallerLedger.Grant(
            "r-added-" + nanos, node, tokens, CallerLedger.Origin.REDIS, nanos, nanos);
    grant.closedNanos = nanos + 1;
    grant.closedAt = node;
    return grant;
  }

  @Test
  void unchangedRun_hasNoFindings() {
    simulation.check();
    assertThat(simulation.failures()).isEmpty();
  }

  /** One may be due to rounding. */
  @Test
  void twoTokensTooMany_areFound() {
    CallerLedger.Worst worst =
        simulation.ledger().worstWindow((double) plan.burst(), plan.perSecond() / 1e9);
    long free = (long) Math.floor(-worst.excess());
    simulation.ledger().add(grant(worst.toNanos(), free));
    simulation.check();
    assertThat(simulation.failures()).isEmpty();
    simulation.ledger().add(grant(worst.toNanos(), 2));
    assertFinds("TOKENS");
  }

  @Test
  void secondGrantUnderOneKey_isFound() {
    Callers.Call call =
        simulation.calls().stream()
            .filter(each -> each.nodes.size() == 1 && each.grants.size() == 1)
            .findFirst()
            .orElseThrow();
    call.grants.add(grant(call.grants.get(0).decidedNanos + 1, 1));
    assertFinds("TWICE");
  }

  @Test
  void leakedSlot_isFound() {
    server.command("HSET", SimulatedGovernor.stateKey(GovernorPlan.MODEL), "rleaked", "");
    assertFinds("LEAK-UNDELIVERED");
  }

  @Test
  void ticketThatWaitsAtTheEnd_isFound() {
    simulation.checkWaiting();
    assertThat(simulation.failures()).isEmpty();
    server.command("ZADD", SimulatedGovernor.waitingListKey(GovernorPlan.MODEL), "1", "added");
    assertFoundWaiting("QUEUE");
  }

  @Test
  void callerWithoutADecision_isFound() {
    GovernorNode node = simulation.livingNodes().get(0);
    simulation.calls().add(call(-1, node, GovernorPlan.CLASSES.get(0), SECOND));
    assertFoundWaiting("STUCK");
  }

  /** The checker itself must not drain the waiting list. */
  @Test
  void nodesThatDoNotCheckTheWaitingList_areFound() {
    simulation.livingNodes().forEach(node -> node.timer().stop());
    GovernorNode node = simulation.livingNodes().get(0);
    for (int i = 0; i < 2; i++) {
      var unused =
          node.store()
              .request(
                  TokenRequest.of(GovernorPlan.MODEL, plan.burst())
                      .withPriorityClass(GovernorPlan.CLASSES.get(0)));
    }
    Scheduler scheduler = simulation.scheduler();
    scheduler.runUntil(scheduler.nanos() + 60 * SECOND);
    assertFoundWaiting("QUEUE");
  }

  private void assertFoundWaiting(String kind) {
    simulation.checkWaiting();
    assertThat(simulation.failures()).extracting(GovernorSimulation::kindOf).contains(kind);
  }

  @Test
  void moreOpenThanAllowed_isFound() {
    long now = simulation.ledger().all().get(0).decidedNanos - SECOND;
    for (int i = 0; i < plan.concurrency(); i++) {
      simulation.ledger().add(open(now));
    }
    simulation.check();
    assertThat(simulation.failures())
        .extracting(GovernorSimulation::kindOf)
        .doesNotContain("SLOTS");
    simulation.ledger().add(open(now));
    assertFinds("SLOTS");
  }

  private CallerLedger.Grant open(long nanos) {
    CallerLedger.Grant grant = grant(nanos, 0);
    grant.closedNanos = nanos + SECOND / 2;
    return grant;
  }

  @Test
  void callerOfALowerClass_thatIsServedFirst_isFound() {
    List<String> classes = GovernorPlan.CLASSES;
    assertThat(inversions(classes.get(0), classes.get(1), 2)).hasSize(1);
    assertThat(inversions(classes.get(0), classes.get(0), 2)).hasSize(1);
    assertThat(inversions(classes.get(1), classes.get(0), 2)).isEmpty();
    assertThat(inversions(classes.get(0), classes.get(1), 4)).isEmpty();
  }

  /** The first one has a place from 1 s on and is granted at 3 s; the other one asks at 1.5 s. */
  private List<String> inversions(String first, String later, int grantedAtSecond) {
    GovernorNode node = simulation.livingNodes().get(0);
    Callers.Call waiting = call(1, node, first, SECOND / 2);
    waiting.ticket = "t-waiting";
    waiting.queuedNanos = SECOND;
    waiting.grants.add(grant(3 * SECOND, 10));
    Callers.Call other = call(2, node, later, SECOND * 3 / 2);
    other.grants.add(grant(grantedAtSecond * SECOND, 10));
    return new OrderCheck(List.of(waiting, other), new RedisDecisions(), List.of()).inversions();
  }

  private static Callers.Call call(int number, GovernorNode node, String priority, long nanos) {
    TokenRequest request =
        TokenRequest.of(GovernorPlan.MODEL, 10).withPriorityClass(priority).withTenant("t");
    return new Callers.Call(number, node, request, Callers.Behavior.AWAITS, nanos);
  }
}
