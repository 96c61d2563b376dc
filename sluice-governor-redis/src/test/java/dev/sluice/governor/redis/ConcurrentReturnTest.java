package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that ends local decisions, or delivers a grant, is delayed. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ConcurrentReturnTest {
  @Test
  void nodeReturns_onlyWithAllGrantsOfItsShare() throws InterruptedException {
    StoppingTimer timer = new StoppingTimer("NodeGrants", "add");
    TokenRequest keyed = request(10).withIdempotencyKey("k");
    try (RedisServer redis = RedisServer.builder().data().start();
        TcpProxy proxy = TcpProxy.to(redis);
        OutageRig rig =
            OutageRig.local(
                RedisBudgets.builder().url(proxy.uri()).timer(timer),
                config(SeedBudget.budget(60_000, 1_000).build()))) {
      proxy.refuse();
      proxy.cut();
      rig.awaitShare();
      TokenDecision.Granted granted = rig.grantedSoon(keyed);
      TokenDecision.Granted settled = rig.grantedSoon(10);
      proxy.heal();
      // The steps before the report take half a second, and the share answers at once.
      proxy.delay(Duration.ofMillis(150), Duration.ofMillis(150));
      until("the return begins", () -> !rig.store.explain(request(1)).isDone());
      timer.arm();
      CompletableFuture<?> settling =
          CompletableFuture.supplyAsync(() -> get(rig.store.settle(settled.reservation(), 10)));
      timer.awaitStop();
      during(Duration.ofSeconds(3));
      assertThat(rig.isLast("returned")).isFalse();
      timer.goOn();
      get(settling);
      rig.awaitReturned();
      proxy.delay(Duration.ZERO, Duration.ZERO);
      assertThat(rig.grantedSoon(keyed).reservation()).isEqualTo(granted.reservation());
      until("one slot is in use", () -> rig.running() == 1);
      during(Duration.ofMillis(500));
      assertThat(rig.running()).isEqualTo(1);
    } finally {
      timer.goOn();
    }
  }

  /** After the node has taken the waiter, and before it has recorded the grant. */
  @Test
  void waiterThatComesAndGoes_duringADelivery_endsNothing() throws InterruptedException {
    StoppingTimer timer = new StoppingTimer("NodeGrants", "add");
    Duration idle = Duration.ofMillis(500);
    try (RedisServer redis = RedisServer.start();
        OutageRig rig =
            OutageRig.local(
                RedisBudgets.builder().url(redis.uri()).timer(timer),
                config(SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(), idle))) {
      TokenDecision.Granted running = rig.granted(10);
      String ticket = ((TokenDecision.Queued) rig.ask(10)).ticket();
      CompletableFuture<Optional<TokenDecision>> first = rig.store.await(ticket);
      until("it waits", () -> get(rig.store.poll(ticket)).isPresent());
      timer.arm();
      CompletableFuture<?> settling =
          CompletableFuture.supplyAsync(() -> get(rig.store.settle(running.reservation(), 10)));
      timer.awaitStop();
      Thread other = new Thread(() -> rig.store.await(ticket).cancel(false));
      other.start();
      until("it is blocked", () -> other.getState() == Thread.State.BLOCKED);
      timer.goOn();
      get(settling);
      other.join();
      TokenDecision.Granted granted = (TokenDecision.Granted) get(first).orElseThrow();
      during(idle.multipliedBy(3));
      assertThat(rig.running()).isEqualTo(1);
      assertThat(get(rig.store.settle(granted.reservation(), 10))).isPresent();
    } finally {
      timer.goOn();
    }
  }
}
