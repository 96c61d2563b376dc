package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.redis.store.ModelKeys;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Another node cancels a ticket about which this node's share decides. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class CancelledElsewhereTest {
  @Test
  void messageThatATicketIsCanceled_endsItsWaitAndItsPlace() {
    try (RedisServer redis = RedisServer.start();
        OutageRig rig =
            OutageRig.local(
                redis.uri(),
                1,
                config(
                    SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(),
                    Duration.ofMinutes(1)))) {
      rig.grantedSoon(10);
      TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(10);
      CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
      assertThat(get(rig.store.poll(queued.ticket()))).isPresent();
      // It cannot write, which is an outage, but sends messages.
      redis.command("REPLICAOF", "127.0.0.1", "1");
      rig.awaitShare();
      assertThat(get(rig.store.waitingList("sonnet", 0, 1)).total()).isEqualTo(1);
      String id = queued.ticket().substring(queued.ticket().indexOf('-') + 1);
      String news = ModelKeys.of("token-governor:", "sonnet").channel();
      until(
          "the wait ends",
          () -> {
            redis.command("PUBLISH", news, "-1 " + id + "=CANCELLED");
            return waiter.isDone();
          });
      assertThat(get(waiter).orElseThrow())
          .isInstanceOfSatisfying(
              TokenDecision.Denied.class,
              denied -> assertThat(denied.reason()).isEqualTo(TokenDecision.Reason.CANCELLED));
      assertThat(get(rig.store.waitingList("sonnet", 0, 1)).total()).isZero();
      redis.command("REPLICAOF", "NO", "ONE");
      rig.awaitReturned();
    }
  }
}
