package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread of a caller ends the decisions of this node's share, and gets no core meanwhile. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ConcurrentReturnTest {
  /** Stops the next thread that records a grant, once armed. */
  private static final class StoppingTimer implements StoreTimer {
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final CountDownLatch goesOn = new CountDownLatch(1);
    private volatile boolean armed;

    @Override
    public long nanoTime() {
      if (armed && recordsGrant()) {
        armed = false;
        stopped.countDown();
        try {
          goesOn.await();
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
        }
      }
      return System.nanoTime();
    }

    private static boolean recordsGrant() {
      return StackWalker.getInstance()
          .walk(
              frames ->
                  frames.anyMatch(
                      each ->
                          each.getClassName().endsWith(".NodeGrants")
                              && each.getMethodName().equals("add")));
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // the test does not wait for it
    public void schedule(long nanos, Runnable action) {
      if (!thread.isShutdown()) {
        thread.schedule(action, nanos, TimeUnit.NANOSECONDS);
      }
    }

    @Override
    public void execute(Runnable action) {
      action.run();
    }

    @Override
    public void close() {
      thread.shutdownNow();
    }
  }

  @Test
  void nodeReturns_onlyWithAllGrantsOfItsShare() throws InterruptedException {
    StoppingTimer timer = new StoppingTimer();
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
      timer.armed = true;
      CompletableFuture<?> settling =
          CompletableFuture.supplyAsync(() -> get(rig.store.settle(settled.reservation(), 10)));
      timer.stopped.await();
      during(Duration.ofSeconds(3));
      assertThat(rig.isLast("returned")).isFalse();
      timer.goesOn.countDown();
      get(settling);
      rig.awaitReturned();
      proxy.delay(Duration.ZERO, Duration.ZERO);
      assertThat(rig.grantedSoon(keyed).reservation()).isEqualTo(granted.reservation());
      until("one slot is in use", () -> rig.running() == 1);
      during(Duration.ofMillis(500));
      assertThat(rig.running()).isEqualTo(1);
    } finally {
      timer.goesOn.countDown();
    }
  }
}
