package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A ticket that is awaited at several nodes, of which nobody looks for minutes. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SharedTicketTest {
  private static final String MODEL = "sonnet";
  private static final BudgetConfig CONFIG =
      config(
          ModelBudget.of(6_000, 1_000, Allocation.OFF).withConcurrency(1), Duration.ofMinutes(10));

  private final RedisServer redis = RedisServer.start();
  private final List<BudgetStore> nodes = Stream.generate(this::open).limit(3).toList();

  private final BudgetStore one = nodes.get(0);
  private final BudgetStore other = nodes.get(1);
  private final BudgetStore third = nodes.get(2);

  private BudgetStore open() {
    return RedisBudgets.builder()
        .url(redis.uri())
        .timeout(Duration.ofSeconds(20))
        .opener()
        .open(CONFIG, BudgetListener.NONE);
  }

  @AfterEach
  void close() {
    nodes.forEach(BudgetStore::close);
    redis.close();
  }

  private Outcome ask() {
    return get(one.request(TokenRequest.of(MODEL, 1, "P1_user")));
  }

  /** The only slot. */
  private Outcome.Granted running() {
    String channel = ModelKeys.of("token-governor:", MODEL).channel();
    await().until(() -> List.of(channel, 3L).equals(redis.command("PUBSUB", "NUMSUB", channel)));
    return (Outcome.Granted) ask();
  }

  private String queued() {
    return ((Outcome.Queued) ask()).ticket();
  }

  /** Returns when Redis knows. */
  private static CompletableFuture<Optional<Outcome>> awaited(BudgetStore store, String ticket) {
    CompletableFuture<Optional<Outcome>> waiter = store.await(ticket);
    assertThat(get(store.poll(ticket))).containsInstanceOf(Outcome.Queued.class);
    return waiter;
  }

  private static Outcome soon(CompletableFuture<Optional<Outcome>> waiter) {
    await().atMost(Duration.ofSeconds(5)).until(waiter::isDone);
    return get(waiter).orElseThrow();
  }

  @Test
  void grantByOneOfThem_isTold_atBoth() {
    Outcome.Granted running = running();
    String ticket = queued();
    CompletableFuture<Optional<Outcome>> there = awaited(other, ticket);
    CompletableFuture<Optional<Outcome>> here = awaited(one, ticket);
    get(one.settle(running.reservation(), 1));
    assertThat(soon(there)).isInstanceOf(Outcome.Granted.class).isEqualTo(soon(here));
    assertThat(get(third.status()).buckets().get(MODEL).running()).isEqualTo(1);
  }

  @Test
  void whoLeaves_doesNotTakeTheOtherWithIt() {
    Outcome.Granted running = running();
    String ticket = queued();
    CompletableFuture<Optional<Outcome>> there = awaited(other, ticket);
    CompletableFuture<Optional<Outcome>> here = awaited(one, ticket);
    here.cancel(false);
    assertThat(get(one.poll(ticket))).isPresent();
    get(third.settle(running.reservation(), 1));
    assertThat(soon(there)).isInstanceOf(Outcome.Granted.class);
  }

  @Test
  void cancelByOneOfThem_isTold_atBoth() {
    running();
    String ticket = queued();
    CompletableFuture<Optional<Outcome>> there = awaited(other, ticket);
    CompletableFuture<Optional<Outcome>> here = awaited(one, ticket);
    assertThat(get(one.cancel(ticket))).isTrue();
    for (CompletableFuture<Optional<Outcome>> each : List.of(here, there)) {
      assertThat(((Outcome.Refused) soon(each)).reason()).isEqualTo(Outcome.Reason.CANCELLED);
    }
  }
}
