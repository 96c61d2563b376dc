package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A caller leaves while this node's share grants its ticket. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class UndeliveredShareGrantTest {
  private static final BudgetConfig CONFIG =
      config(
          SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(),
          Duration.ofMillis(500));

  private final RedisServer redis = RedisServer.builder().data().start();
  private final StoppingTimer timer = new StoppingTimer("LocalShareStore", "reload");
  private final BudgetStore store =
      RedisBudgets.builder()
          .url(redis.uri())
          .timer(timer)
          .build()
          .open(CONFIG, BudgetListener.NONE);

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  private boolean isGrantedNow() {
    return get(store.tryAcquire(request(1))).orElse(null) instanceof TokenDecision.Granted;
  }

  private TokenDecision.Granted grantedByTheShare() {
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
    return running[0];
  }

  @Test
  void undeliveredGrantOfTheShare_isReturned() {
    TokenDecision.Granted running = grantedByTheShare();
    TokenDecision.Queued queued = (TokenDecision.Queued) get(store.request(request(1)));
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
    timer.hold(true);
    get(store.settle(running.reservation(), 1));
    // The share has granted it and notifies the waiting list, which is about to notify the caller.
    timer.next();
    waiter.cancel(false);
    timer.next();
    timer.hold(false);
    assertThat(isGrantedNow()).isFalse();
    until("its slot is free", this::isGrantedNow);
  }

  /** The share notifies the waiting list, and both that call and the caller wait for a reload. */
  @Test
  void grantOfACallerThatHasJustLeft_isReturned() throws InterruptedException {
    TokenDecision.Granted running = grantedByTheShare();
    TokenDecision.Queued queued = (TokenDecision.Queued) get(store.request(request(1)));
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
    timer.hold(true);
    get(store.settle(running.reservation(), 1));
    timer.arm();
    Thread reloads = new Thread(() -> get(store.reload(CONFIG)));
    reloads.start();
    timer.awaitStop();
    Thread leaves = new Thread(() -> waiter.cancel(false));
    Thread notifies = new Thread(timer::next);
    notifies.start();
    until("the share is about to notify", () -> notifies.getState() == Thread.State.BLOCKED);
    leaves.start();
    until("the caller is about to leave", () -> leaves.getState() == Thread.State.BLOCKED);
    timer.hold(false);
    timer.goOn();
    reloads.join();
    notifies.join();
    leaves.join();
    assertThat(waiter).isCancelled();
    until("its slot is free", this::isGrantedNow);
  }
}
