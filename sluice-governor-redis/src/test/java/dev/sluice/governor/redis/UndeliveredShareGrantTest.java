package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A caller leaves while this node's share grants its ticket. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class UndeliveredShareGrantTest {
  private static final Duration IDLE_TIMEOUT = Duration.ofMillis(500);

  private final RedisServer redis = RedisServer.builder().data().start();
  private final DelayingTimer timer = new DelayingTimer();
  private final BudgetStore store =
      RedisBudgets.builder()
          .url(redis.uri())
          .timer(timer)
          .build()
          .open(
              config(
                  SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(), IDLE_TIMEOUT),
              BudgetListener.NONE);

  @AfterEach
  void close() {
    store.close();
    timer.stop();
    redis.close();
  }

  /** Delays the callbacks of waiters on request. */
  private static final class DelayingTimer implements StoreTimer {
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
    private final Queue<Runnable> delayed = new ConcurrentLinkedQueue<>();
    private volatile boolean delaying;

    @Override
    public long nanoTime() {
      return System.nanoTime();
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
      if (delaying) {
        delayed.add(action);
      } else {
        action.run();
      }
    }

    /** Runs the next delayed callback, but not the callbacks that it causes. */
    void runNext() {
      until("a callback", () -> !delayed.isEmpty());
      delayed.remove().run();
    }

    @Override
    public void close() {}

    void stop() {
      thread.shutdownNow();
    }
  }

  private boolean isGrantedNow() {
    return get(store.tryAcquire(request(1))).orElse(null) instanceof TokenDecision.Granted;
  }

  @Test
  void undeliveredGrantOfTheShare_isReturned() {
    OutageRig.awaitReserved(store);
    redis.kill();
    TokenDecision.Granted[] running = new TokenDecision.Granted[1];
    until(
        "the share grants",
        () -> {
          if (get(store.tryAcquire(request(1))).orElse(null)
              instanceof TokenDecision.Granted granted) {
            running[0] = granted;
          }
          return running[0] != null;
        });
    TokenDecision.Queued queued = (TokenDecision.Queued) get(store.request(request(1)));
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
    timer.delaying = true;
    get(store.settle(running[0].reservation(), 1));
    // The share has granted it and notifies the waiting list, which is about to notify the caller.
    timer.runNext();
    waiter.cancel(false);
    timer.runNext();
    timer.delaying = false;
    assertThat(isGrantedNow()).isFalse();
    until("its slot is free", this::isGrantedNow);
  }
}
