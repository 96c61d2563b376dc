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

/** Waits for tickets with a maximum wait. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class TicketDeadlineTest {
  /** One request at a time. A node checks its tickets more often than every second. */
  private static final BudgetConfig CONFIG =
      config(
          SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build(), Duration.ofSeconds(2));

  private final RedisServer redis = RedisServer.start();
  private final ManualTimer timer = new ManualTimer();

  /** Runs actions only when the test does. */
  private static final class ManualTimer implements StoreTimer {
    final List<Scheduled> scheduled = new CopyOnWriteArrayList<>();
    final List<Runnable> callbacks = new CopyOnWriteArrayList<>();
    volatile long now;

    record Scheduled(long nanos, Runnable action) {}

    @Override
    public long nanoTime() {
      return now;
    }

    @Override
    public void schedule(long nanos, Runnable action) {
      scheduled.add(new Scheduled(nanos, action));
    }

    @Override
    public void execute(Runnable action) {
      callbacks.add(action);
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

  private static TokenDecision.Granted takeTheSlot(BudgetStore store) {
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
      takeTheSlot(store);
      String ticket = ticket(store, Duration.ofHours(24));
      for (int i = 0; i < 100; i++) {
        CompletableFuture<Optional<TokenDecision>> waiter = store.await(ticket);
        get(store.poll(ticket));
        waiter.cancel(false);
      }
      // The next check of the waiting list, and the deadline.
      assertThat(timer.scheduled).hasSizeLessThan(10);
      assertThat(timer.scheduled).allMatch(each -> each.nanos() <= Duration.ofMinutes(1).toNanos());
    }
  }

  @Test
  void undeliveredGrantFoundAtTheDeadline_isReturned() {
    try (BudgetStore first = open(timer);
        BudgetStore second = open(StoreTimer.system())) {
      TokenDecision.Granted granted = takeTheSlot(second);
      String ticket = ticket(second, Duration.ofSeconds(40));
      CompletableFuture<Optional<TokenDecision>> waiter = first.await(ticket);
      get(first.poll(ticket));
      // So that this node misses the notice.
      redis.command("CLIENT", "KILL", "TYPE", "pubsub");
      get(second.settle(granted.reservation(), 1));
      timer.now = Duration.ofSeconds(41).toNanos();
      timer.scheduled.stream()
          .filter(each -> each.nanos() > Duration.ofSeconds(30).toNanos())
          .forEach(each -> each.action().run());
      until("the callback is due", () -> !timer.callbacks.isEmpty());
      waiter.cancel(false);
      timer.callbacks.forEach(Runnable::run);
      until(
          "the slot is free again",
          () -> get(second.status()).models().get("sonnet").running() == 0);
      assertThat(get(second.poll(ticket))).isEmpty();
    }
  }
}
