package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Grants whose waiters leave before the delivery. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class UndeliveredGrantTest {
  private static final String MODEL = "sonnet";
  private static final BudgetConfig CONFIG = config(SeedBudget.budget(6_000, 1_000).build());
  private static final Duration IDLE_TIMEOUT = CONFIG.waitingList().ticketIdleTimeout();
  private static final Duration TICK = Duration.ofNanos(1_000);

  @AutoClose private static final ManualClockBudgets redis = new ManualClockBudgets();

  private static TokenDecision ask(BudgetStore store, long tokens) {
    return get(store.request(TokenRequest.of(MODEL, tokens).withPriorityClass("P1_user")));
  }

  private static int running(BudgetStore store) {
    GovernorStatus.Model status = get(store.status()).models().get(MODEL);
    assertThat(status).isNotNull();
    return status.running();
  }

  /** Grants a ticket whose waiter leaves after the grant and before the delivery. */
  private static TokenDecision.Queued grantUndelivered(BudgetStore store) {
    ask(store, 1_000);
    TokenDecision.Queued queued = (TokenDecision.Queued) ask(store, 100);
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
    redis.delayCallbacks();
    redis.advance(Duration.ofSeconds(1));
    assertThat(waiter).isNotDone();
    waiter.cancel(false);
    redis.runCallbacks();
    assertThat(running(store)).isEqualTo(2);
    return queued;
  }

  /** The second waiter has the decision before the node finds that the first one has left. */
  @Test
  void grantDeliveredToTheSecondWaiter_isKnownHere() {
    try (BudgetStore store = redis.open(CONFIG, BudgetListener.NONE)) {
      ask(store, 1_000);
      TokenDecision.Queued queued = (TokenDecision.Queued) ask(store, 100);
      CompletableFuture<Optional<TokenDecision>> first = store.await(queued.ticket());
      redis.delayCallbacks();
      redis.advance(Duration.ofSeconds(1));
      first.cancel(false);
      CompletableFuture<Optional<TokenDecision>> second = store.await(queued.ticket());
      redis.advance(Duration.ZERO);
      redis.runCallbacks();
      assertThat(get(second)).containsInstanceOf(TokenDecision.Granted.class);
      redis.loseData();
      assertThat(running(store)).isEqualTo(2);
    }
  }

  @Test
  void undeliveredGrant_withoutAPoll_isReturned() {
    try (BudgetStore store = redis.open(CONFIG, BudgetListener.NONE)) {
      TokenDecision.Queued queued = grantUndelivered(store);
      redis.advance(IDLE_TIMEOUT.minus(TICK));
      assertThat(running(store)).isEqualTo(2);
      redis.advance(TICK);
      assertThat(running(store)).isEqualTo(1);
      assertThat(get(store.poll(queued.ticket()))).isEmpty();
    }
  }

  @Test
  void undeliveredGrant_isClaimedByALaterPoll() {
    try (BudgetStore store = redis.open(CONFIG, BudgetListener.NONE)) {
      TokenDecision.Queued queued = grantUndelivered(store);
      redis.advance(IDLE_TIMEOUT.minus(TICK));
      assertThat(get(store.poll(queued.ticket()))).containsInstanceOf(TokenDecision.Granted.class);
      redis.advance(IDLE_TIMEOUT.multipliedBy(2));
      assertThat(running(store)).isEqualTo(2);
    }
  }
}
