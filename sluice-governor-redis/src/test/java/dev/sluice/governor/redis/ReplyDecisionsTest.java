package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.governor.redis.internal.store.ReplyMapper;
import dev.sluice.governor.redis.internal.store.ScriptResult;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Decisions in a reply and failing listeners do not fail a call that Redis has executed. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ReplyDecisionsTest {
  private static final AtomicInteger NAMES = new AtomicInteger();
  private static final BudgetConfig ONE_AT_A_TIME =
      config(SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(1).build());

  @AutoClose private static final RedisServer redis = RedisServer.start();

  private final String prefix = "decisions-" + NAMES.incrementAndGet() + ":";

  private BudgetStore open(BudgetListener listener) {
    return RedisBudgets.builder()
        .url(redis.uri())
        .prefix(prefix)
        .timeout(Duration.ofSeconds(20))
        .build()
        .open(ONE_AT_A_TIME, listener);
  }

  private static TokenDecision ask(BudgetStore store, long tokens) {
    return get(store.request(TokenRequest.of("sonnet", tokens).withPriorityClass("P1_user")));
  }

  @Test
  void listenerThatThrows_failsNoCall() {
    AtomicInteger calls = new AtomicInteger();
    BudgetListener broken =
        new BudgetListener() {
          private void fail() {
            calls.incrementAndGet();
            throw new IllegalStateException("broken");
          }

          @Override
          public void requested(TokenRequest request, TokenDecision outcome, long nanos) {
            fail();
          }

          @Override
          public void granted(TokenRequest request, long tokens, long waited, long nanos) {
            fail();
          }

          @Override
          public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
            fail();
          }

          @Override
          public void refilled(String model, long tokens, long available, long nanos) {
            fail();
          }
        };
    try (BudgetStore store = open(broken)) {
      TokenDecision.Granted first = (TokenDecision.Granted) ask(store, 100);
      TokenDecision.Queued queued = (TokenDecision.Queued) ask(store, 100);
      CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
      assertThat(get(store.settle(first.reservation(), 10))).isPresent();
      TokenDecision.Granted second = (TokenDecision.Granted) get(waiter).orElseThrow();
      assertThat(get(store.settle(second.reservation(), 100))).isPresent();
    }
    // two requests, two grants, two settlements
    assertThat(calls.get()).isGreaterThanOrEqualTo(6);
  }

  @Test
  void unreadableDecision_failsNoCall() {
    try (BudgetStore store = open(BudgetListener.NONE)) {
      TokenDecision.Granted first = (TokenDecision.Granted) ask(store, 100);
      String ticket = ((TokenDecision.Queued) ask(store, 1)).ticket();
      CompletableFuture<Optional<TokenDecision>> waiter = store.await(ticket);
      get(store.poll(ticket));
      redis.command(
          "EVAL",
          "local t = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1])) t.asked = -5 "
              + "return redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(t))",
          "1",
          ModelKeys.of(prefix, "sonnet").all()[0],
          "t" + ReplyMapper.idIn(ticket));
      assertThat(get(store.settle(first.reservation(), 10)))
          .hasValueSatisfying(settled -> assertThat(settled.actualTokens()).isEqualTo(10));
      assertThat(get(waiter)).containsInstanceOf(TokenDecision.Granted.class);
    }
  }

  @Test
  void malformedDecisions_areSkipped() {
    List<Object> good = List.of("id", "g", "", 5L, 5L, "P1_user", "tenant", 7L, 100L, 1L, "");
    List<Object> reply =
        List.of(1L, -1L, 0L, List.of(List.of("odd"), good, "odd"), List.of(1L), 0L, 0L, 0L);
    ScriptResult answer = ScriptResult.of(reply);
    assertThat(answer.decisions())
        .extracting(ScriptResult.TicketDecision::id)
        .containsExactly("id");
    assertThat(answer.result().number(0)).isEqualTo(1);
  }
}
