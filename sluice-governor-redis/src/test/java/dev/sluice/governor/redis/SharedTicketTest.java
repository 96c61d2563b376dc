package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A ticket that is awaited at several nodes, none of which polls it for minutes. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SharedTicketTest {
  private static final String MODEL = "sonnet";
  private static final BudgetConfig CONFIG =
      config(
          SeedBudget.budget(6_000, 1_000).maxConcurrentRequests(1).build(), Duration.ofMinutes(10));

  private final RedisServer redis = RedisServer.start();
  private final List<BudgetStore> nodes = Stream.generate(this::open).limit(3).toList();

  private final BudgetStore one = nodes.get(0);
  private final BudgetStore other = nodes.get(1);
  private final BudgetStore third = nodes.get(2);

  private BudgetStore open() {
    return RedisBudgets.builder()
        .url(redis.uri())
        .timeout(Duration.ofSeconds(20))
        .build()
        .open(CONFIG, BudgetListener.NONE);
  }

  @AfterEach
  void close() {
    nodes.forEach(BudgetStore::close);
    redis.close();
  }

  private TokenDecision ask() {
    return get(one.request(TokenRequest.of(MODEL, 1).withPriorityClass("P1_user")));
  }

  /** Takes the only slot. */
  private TokenDecision.Granted running() {
    String channel = ModelKeys.of("token-governor:", MODEL).channel();
    await().until(() -> List.of(channel, 3L).equals(redis.command("PUBSUB", "NUMSUB", channel)));
    return (TokenDecision.Granted) ask();
  }

  private String queued() {
    return ((TokenDecision.Queued) ask()).ticket();
  }

  /** Awaits a ticket; returns when Redis has the waiter. */
  private static CompletableFuture<Optional<TokenDecision>> awaited(
      BudgetStore store, String ticket) {
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(ticket);
    assertThat(get(store.poll(ticket))).containsInstanceOf(TokenDecision.Queued.class);
    return waiter;
  }

  private static TokenDecision soon(CompletableFuture<Optional<TokenDecision>> waiter) {
    await().atMost(Duration.ofSeconds(5)).until(waiter::isDone);
    return get(waiter).orElseThrow();
  }

  @Test
  void grant_isDeliveredAtBothNodes() {
    TokenDecision.Granted running = running();
    String ticket = queued();
    CompletableFuture<Optional<TokenDecision>> second = awaited(other, ticket);
    CompletableFuture<Optional<TokenDecision>> first = awaited(one, ticket);
    get(one.settle(running.reservation(), 1));
    assertThat(soon(second)).isInstanceOf(TokenDecision.Granted.class).isEqualTo(soon(first));
    assertThat(get(third.status()).models().get(MODEL).running()).isEqualTo(1);
  }

  @Test
  void waiterThatLeaves_doesNotAffectTheOther() {
    TokenDecision.Granted running = running();
    String ticket = queued();
    CompletableFuture<Optional<TokenDecision>> second = awaited(other, ticket);
    CompletableFuture<Optional<TokenDecision>> first = awaited(one, ticket);
    first.cancel(false);
    assertThat(get(one.poll(ticket))).isPresent();
    get(third.settle(running.reservation(), 1));
    assertThat(soon(second)).isInstanceOf(TokenDecision.Granted.class);
  }

  @Test
  void cancellation_isDeliveredAtBothNodes() {
    running();
    String ticket = queued();
    CompletableFuture<Optional<TokenDecision>> second = awaited(other, ticket);
    CompletableFuture<Optional<TokenDecision>> first = awaited(one, ticket);
    assertThat(get(one.cancel(ticket))).isTrue();
    for (CompletableFuture<Optional<TokenDecision>> each : List.of(first, second)) {
      assertThat(((TokenDecision.Denied) soon(each)).reason())
          .isEqualTo(TokenDecision.Reason.CANCELLED);
    }
  }
}
