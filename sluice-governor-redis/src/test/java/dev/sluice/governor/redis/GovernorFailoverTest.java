package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisSentinels;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The master dies, and a replica that has not received the last calls takes its place. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class GovernorFailoverTest {
  private static final long BURST = 1_000;
  private static final int SLOTS = 10;

  /** A token a second, so that nearly nothing accrues during a test. */
  private static final ModelBudget BUDGET =
      SeedBudget.budget(60, BURST).maxConcurrentRequests(SLOTS).build();

  private final GrantLedger ledger = new GrantLedger();

  private TokenDecision.Granted granted(OutageRig rig, long tokens) {
    long from = System.nanoTime();
    TokenDecision.Granted granted = rig.granted(tokens);
    ledger.granted(from, System.nanoTime(), tokens);
    return granted;
  }

  /** Takes the remaining tokens, in pieces. */
  private void drain(OutageRig rig) {
    while (true) {
      long from = System.nanoTime();
      Optional<TokenDecision> outcome = get(rig.store.tryAcquire(request(50)));
      if (!(outcome.orElse(null) instanceof TokenDecision.Granted granted)) {
        return;
      }
      ledger.granted(from, System.nanoTime(), granted.tokens());
      assertThat(get(rig.store.settle(granted.reservation(), granted.tokens()))).isPresent();
    }
  }

  @Test
  void failoverToALaggingReplica_grantsOnlyTheMissedTokensAgain() {
    try (RedisSentinels sentinels = RedisSentinels.start();
        OutageRig rig = OutageRig.local(sentinels.uri(), 1, config(BUDGET))) {
      TokenDecision.Granted known = granted(rig, 300);
      TokenDecision.Granted settledLater = granted(rig, 100);
      assertThat(sentinels.master().command("WAIT", "1", "10000")).isEqualTo(1L);
      sentinels.replica().pause();
      // Otherwise it would find the last calls in its socket.
      sentinels.master().command("CLIENT", "KILL", "TYPE", "replica");
      long missed = 400;
      TokenDecision.Granted forgotten = granted(rig, missed);
      assertThat(get(rig.store.settle(settledLater.reservation(), 100))).isPresent();
      sentinels.killMaster();
      sentinels.replica().resume();
      sentinels.awaitFailover();
      rig.awaitReturned();
      // The settlement was lost, so its slot stays in use until the reservation expires.
      until("Redis has the older data", () -> rig.running() == 2);
      assertThat(get(rig.store.settle(forgotten.reservation(), missed))).isEmpty();
      drain(rig);
      long excess = ledger.excess(BURST, 1);
      System.out.printf("failover to a replica that missed %d tokens: excess %d%n", missed, excess);
      assertThat(excess).isBetween(1L, missed);
      assertThat(get(rig.store.settle(known.reservation(), 300))).isPresent();
    }
  }

  @Test
  void clockThatJumpsAhead_bringsAtMostOneBurst_andBack_nothing() {
    try (RedisServer redis = RedisServer.builder().clockOffset(Duration.ZERO).start();
        OutageRig rig = OutageRig.withLongTimeout(redis.uri(), 1, config(BUDGET))) {
      drain(rig);
      redis.clockOffset(Duration.ofHours(1));
      drain(rig);
      rig.grantedSoon(1);
      drain(rig);
      long ahead = ledger.excess(BURST, 1);
      redis.clockOffset(Duration.ofHours(-1));
      rig.grantedSoon(1);
      drain(rig);
      assertThat(ahead).isLessThanOrEqualTo(BURST);
      assertThat(ledger.excess(BURST, 1)).isEqualTo(ahead);
      assertThat(rig.events).doesNotContain("lost");
    }
  }

  @Test
  void nodesThatStartWithoutRedis_divideAmongTheExpectedOnes_andMakeNoFullBudget() {
    try (RedisServer redis = RedisServer.start()) {
      redis.kill();
      int nodes = 2;
      try (OutageRig one = OutageRig.local(redis.uri(), nodes, config(BUDGET));
          OutageRig other = OutageRig.local(redis.uri(), nodes, config(BUDGET))) {
        for (OutageRig rig : new OutageRig[] {one, other}) {
          rig.awaitShare();
          assertThat(rig.share).isEqualTo(1.0 / nodes);
          assertThat(rig.refused(BURST / nodes + 1)).isEqualTo(TokenDecision.Reason.UNAVAILABLE);
          until("tokens of the share", () -> rig.available() > 0);
          rig.granted(1);
        }
        redis.restart();
        one.awaitReturned();
        other.awaitReturned();
        assertThat(one.running()).isEqualTo(nodes);
        // The state that they create starts empty.
        assertThat(one.available()).isLessThan(BURST / 10);
      }
    }
  }
}
