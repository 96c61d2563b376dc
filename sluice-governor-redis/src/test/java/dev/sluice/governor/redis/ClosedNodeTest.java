package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node closes while a caller waits. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ClosedNodeTest {
  private static final BudgetConfig CONFIG =
      config(
          SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(),
          Duration.ofMillis(500));

  /** The reply with the grant comes too late. */
  @Test
  void grantClaimedForAClosedNode_isReturned() {
    try (RedisServer redis = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(redis);
        OutageRig other = OutageRig.withLongTimeout(redis.uri(), 1, CONFIG);
        OutageRig closed = OutageRig.withLongTimeout(proxy.uri(), 1, CONFIG)) {
      TokenDecision.Granted granted = closed.granted(1);
      TokenDecision.Queued queued = (TokenDecision.Queued) closed.ask(request(1));
      CompletableFuture<Optional<TokenDecision>> waiter = closed.store.await(queued.ticket());
      until("it waits", () -> isAwaited(closed, queued));
      proxy.delay(Duration.ZERO, Duration.ofSeconds(3));
      var unused = closed.store.settle(granted.reservation(), 1);
      until("it is granted", () -> waiting(other) == 0);
      closed.store.close();
      assertThat(get(waiter).orElseThrow())
          .isInstanceOfSatisfying(
              TokenDecision.Denied.class,
              denied -> assertThat(denied.reason()).isEqualTo(TokenDecision.Reason.CLOSED));
      until("its slot is free", () -> other.running() == 0);
    }
  }

  /** The call that polls was sent after the one that waits. */
  private static boolean isAwaited(OutageRig rig, TokenDecision.Queued queued) {
    return get(rig.store.poll(queued.ticket())).orElseThrow() instanceof TokenDecision.Queued;
  }

  private static int waiting(OutageRig rig) {
    return get(rig.store.waitingList("sonnet", 0, 10)).total();
  }
}
