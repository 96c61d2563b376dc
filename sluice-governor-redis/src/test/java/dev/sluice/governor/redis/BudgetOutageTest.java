package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.StoreTerms;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Budgets while Redis is away, and when it is back. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class BudgetOutageTest {
  /** 100 tokens a second, in bursts of 1,000. */
  private static final BudgetConfig CONFIG = config(ModelBudget.of(6_000, 1_000, Allocation.OFF));

  private final RedisServer redis = RedisServer.start();
  private final List<String> told = new CopyOnWriteArrayList<>();
  private BudgetStore store;

  private void open() {
    store =
        RedisBudgets.builder()
            .url(redis.uri())
            .timeout(Duration.ofMillis(200))
            .listener(
                new OutageListener() {
                  @Override
                  public void lost(String cause) {
                    told.add("lost");
                  }

                  @Override
                  public void returned(Duration away) {
                    told.add("returned");
                  }
                })
            .opener()
            .open(CONFIG, BudgetListener.NONE);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  private CompletableFuture<Outcome> ask(TokenRequest request) {
    return store.request(request);
  }

  private static TokenRequest request(long tokens) {
    return TokenRequest.of("sonnet", tokens, "P1_user");
  }

  /** What became of it as soon as Redis answers. */
  private Outcome askUntilAnswered(TokenRequest request) {
    return await()
        .ignoreExceptionsMatching(failure -> failure instanceof BudgetUnavailableException)
        .until(() -> get(ask(request)), outcome -> true);
  }

  private Outcome.Queued spendAndQueue(TokenRequest request) {
    assertThat(askUntilAnswered(request(1_000))).isInstanceOf(Outcome.Granted.class);
    return (Outcome.Queued) askUntilAnswered(request);
  }

  private void requireFails(CompletableFuture<?> answer) {
    assertThatThrownBy(() -> get(answer))
        .isInstanceOf(BudgetUnavailableException.class)
        .hasMessageContaining("Redis");
  }

  @Test
  void calls_fail_andWaitersStay_untilRedisAnswersAgain() {
    open();
    Outcome.Queued queued = spendAndQueue(request(30));
    CompletableFuture<Optional<Outcome>> waiter = store.await(queued.ticket());
    redis.pause();
    requireFails(ask(request(1)));
    await().until(() -> told.contains("lost"));
    requireFails(ask(request(1)));
    requireFails(store.poll(queued.ticket()));
    requireFails(store.settle("r" + queued.ticket().substring(1), 1));
    requireFails(store.reload(CONFIG));
    CompletableFuture<Optional<Outcome>> late = store.await(queued.ticket());
    assertThat(waiter).isNotDone();
    assertThat(late).isNotDone();
    redis.resume();
    assertThat(get(waiter)).containsInstanceOf(Outcome.Granted.class);
    assertThat(get(late)).isEqualTo(get(waiter));
    assertThat(told).containsExactly("lost", "returned");
  }

  @Test
  void deadline_isKept_withoutRedis() {
    open();
    Outcome.Queued queued = spendAndQueue(request(900).withDeadline(Duration.ofMillis(700)));
    CompletableFuture<Optional<Outcome>> waiter = store.await(queued.ticket());
    assertThat(get(store.poll(queued.ticket()))).isPresent();
    redis.pause();
    Outcome.Refused refused = (Outcome.Refused) get(waiter).orElseThrow();
    assertThat(refused.reason()).isEqualTo(Outcome.Reason.DEADLINE);
    assertThat(refused.tokens()).isEqualTo(900);
    redis.resume();
  }

  @Test
  void redisThatForgot_beginsEmpty_andTicketsAreGone() {
    open();
    Outcome.Queued queued = spendAndQueue(request(900));
    CompletableFuture<Optional<Outcome>> waiter = store.await(queued.ticket());
    redis.restartEmpty();
    Outcome.Queued again = (Outcome.Queued) askUntilAnswered(request(900));
    assertThat(again.waitMs()).isGreaterThan(5_000);
    assertThat(get(waiter)).isEmpty();
  }

  @Test
  void startWithoutRedis_recoversByItself() {
    redis.kill();
    open();
    requireFails(ask(request(1)));
    CompletableFuture<Optional<Outcome>> nobodys =
        store.await("t" + StoreTerms.tagOf("sonnet") + "-" + "ab".repeat(16));
    redis.restart();
    assertThat(askUntilAnswered(request(1_000))).isInstanceOf(Outcome.Granted.class);
    assertThat(get(nobodys)).isEmpty();
    assertThat(told).containsExactly("lost", "returned");
  }

  @Test
  void close_tellsWhoWaits_withoutRedis() {
    open();
    Outcome.Queued queued = spendAndQueue(request(900));
    CompletableFuture<Optional<Outcome>> waiter = store.await(queued.ticket());
    assertThat(get(store.poll(queued.ticket()))).isPresent();
    redis.pause();
    store.close();
    assertThat(((Outcome.Refused) get(waiter).orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.CLOSED);
  }
}
