package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waits for tickets that have to be decided by some time. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class TicketDeadlineTest {
  /** Of one request at a time. A node looks for its tickets more often than every second. */
  private static final BudgetConfig CONFIG =
      config(
          SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(), Duration.ofSeconds(2));

  private final RedisServer redis = RedisServer.start();
  private final HeldTimer timer = new HeldTimer();

  /** Nothing happens until somebody does it. */
  private static final class HeldTimer implements StoreTimer {
    final List<Later> later = new CopyOnWriteArrayList<>();
    final List<Runnable> told = new CopyOnWriteArrayList<>();
    volatile long now;

    record Later(long nanos, Runnable action) {}

    @Override
    public long nanoTime() {
      return now;
    }

    @Override
    public void schedule(long nanos, Runnable action) {
      later.add(new Later(nanos, action));
    }

    @Override
    public void execute(Runnable action) {
      told.add(action);
    }

    @Override
    public void close() {}
  }

  @AfterEach
  void close() {
    redis.close();
  }

  private BudgetStore open(StoreTimer clock) {
    return RedisBudgets.builder()
        .url(redis.uri())
        .timeout(Duration.ofSeconds(20))
        .timer(clock)
        .build()
        .open(CONFIG, BudgetListener.NONE);
  }

  private static TokenDecision.Granted takeTheOne(BudgetStore store) {
    return (TokenDecision.Granted)
        get(store.request(TokenRequest.of("sonnet", 1).withPriorityClass("P1_user")));
  }

  private static String ticket(BudgetStore store, Duration deadline) {
    TokenRequest request =
        TokenRequest.of("sonnet", 1).withPriorityClass("P1_user").withMaxWait(deadline);
    return ((TokenDecision.Queued) get(store.request(request))).ticket();
  }

  @Test
  void canceledWaits_leaveNoTimers() {
    try (BudgetStore store = open(timer)) {
      takeTheOne(store);
      String ticket = ticket(store, Duration.ofHours(24));
      for (int i = 0; i < 100; i++) {
        CompletableFuture<Optional<TokenDecision>> waiter = store.await(ticket);
        get(store.poll(ticket));
        waiter.cancel(false);
      }
      // When the line is looked at next, and when a deadline is.
      assertThat(timer.later).hasSizeLessThan(10);
      assertThat(timer.later).allMatch(each -> each.nanos() <= Duration.ofMinutes(1).toNanos());
    }
  }

  @Test
  void undeliveredGrantFoundAtTheDeadline_isReturned() {
    try (BudgetStore here = open(timer);
        BudgetStore there = open(StoreTimer.system())) {
      TokenDecision.Granted first = takeTheOne(there);
      String ticket = ticket(there, Duration.ofSeconds(40));
      CompletableFuture<Optional<TokenDecision>> waiter = here.await(ticket);
      get(here.poll(ticket));
      // So that nobody here is told.
      redis.command("CLIENT", "KILL", "TYPE", "pubsub");
      get(there.settle(first.reservation(), 1));
      timer.now = Duration.ofSeconds(41).toNanos();
      timer.later.stream()
          .filter(each -> each.nanos() > Duration.ofSeconds(30).toNanos())
          .forEach(each -> each.action().run());
      until("it is to be told", () -> !timer.told.isEmpty());
      waiter.cancel(false);
      timer.told.forEach(Runnable::run);
      until(
          "the slot is free again",
          () -> get(there.status()).models().get("sonnet").running() == 0);
      assertThat(get(there.poll(ticket))).isEmpty();
    }
  }
}
