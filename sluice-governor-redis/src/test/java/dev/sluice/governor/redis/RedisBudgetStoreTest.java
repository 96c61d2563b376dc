package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.Governor;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.governor.redis.internal.store.RedisBudgetStore;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Budgets on a real Redis, by its real clock, alone and by two nodes. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RedisBudgetStoreTest {
  private static final String MODEL = "sonnet";
  private static final String P1 = "P1_user";
  private static final AtomicInteger NAMES = new AtomicInteger();

  /** 100 tokens a second, in bursts of 1,000. */
  private static final ModelBudget BUDGET = SeedBudget.budget(6_000, 1_000).build();

  @AutoClose private static final RedisServer redis = RedisServer.start();

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final String prefix = "test-" + NAMES.incrementAndGet() + ":";

  @AfterEach
  void closeAll() throws Exception {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  static BudgetConfig config(ModelBudget budget) {
    return BudgetConfig.builder().models(Map.of(MODEL, budget)).build();
  }

  static BudgetConfig config(ModelBudget budget, Duration idleTimeout) {
    return config(Map.of(MODEL, budget), idleTimeout);
  }

  static BudgetConfig config(Map<String, ModelBudget> models, Duration idleTimeout) {
    return BudgetConfig.builder()
        .models(models)
        .waitingList(WaitingListConfig.builder().ticketIdleTimeout(idleTimeout).build())
        .build();
  }

  private RedisBudgetStore open(BudgetConfig config, BudgetListener listener) {
    BudgetStore store =
        RedisBudgets.builder()
            .url(redis.uri())
            .prefix(prefix)
            .timeout(Duration.ofSeconds(20))
            .build()
            .open(config, listener);
    opened.push(store);
    return (RedisBudgetStore) store;
  }

  private RedisBudgetStore open(BudgetConfig config) {
    return open(config, BudgetListener.NONE);
  }

  private RedisBudgetStore open() {
    return open(config(BUDGET));
  }

  static <T> T get(CompletableFuture<T> answer) {
    try {
      return answer.get(30, TimeUnit.SECONDS);
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new AssertionError(failure);
    } catch (InterruptedException | TimeoutException failure) {
      throw new AssertionError("no answer", failure);
    }
  }

  private static TokenRequest request(long tokens) {
    return TokenRequest.of(MODEL, tokens).withPriorityClass(P1);
  }

  private static TokenDecision.Granted granted(BudgetStore store, long tokens) {
    return (TokenDecision.Granted) get(store.request(request(tokens)));
  }

  private static TokenDecision.Queued queued(BudgetStore store, long tokens) {
    return (TokenDecision.Queued) get(store.request(request(tokens)));
  }

  private static TokenDecision.Granted grantOf(CompletableFuture<Optional<TokenDecision>> waiter) {
    return (TokenDecision.Granted) get(waiter).orElseThrow();
  }

  private static TokenDecision.Reason refusalOf(CompletableFuture<Optional<TokenDecision>> waiter) {
    return ((TokenDecision.Denied) get(waiter).orElseThrow()).reason();
  }

  private static GovernorStatus.Model status(BudgetStore store) {
    return Objects.requireNonNull(get(store.status()).models().get(MODEL));
  }

  private static int waiting(BudgetStore store) {
    return status(store).queueLengths().values().stream().mapToInt(Integer::intValue).sum();
  }

  @Test
  void grant_isSettled_once() {
    RedisBudgetStore store = open();
    TokenDecision.Granted granted = granted(store, 900);
    assertThat(granted.tokens()).isEqualTo(900);
    assertThat(granted.remaining()).isBetween(100L, 999L);
    assertThat(get(store.extend(granted.reservation()))).isTrue();
    assertThat(get(store.settle(granted.reservation(), 400)))
        .hasValueSatisfying(
            settled -> {
              assertThat(settled.reservedTokens()).isEqualTo(900);
              assertThat(settled.refundedTokens()).isBetween(400L, 500L);
            });
    assertThat(get(store.settle(granted.reservation(), 400))).isEmpty();
    assertThat(get(store.extend(granted.reservation()))).isFalse();
    assertThat(status(store).running()).isZero();
    assertThatThrownBy(() -> get(store.settle(granted.reservation(), -1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("actual tokens")
        .hasMessageContaining("-1");
  }

  @Test
  void waiter_isGranted_whenItsTokensHaveAccrued() {
    RedisBudgetStore store = open();
    granted(store, 1_000);
    TokenDecision.Queued queued = queued(store, 20);
    assertThat(queued.binding()).isEqualTo(BudgetDimension.TOKENS);
    assertThat(queued.queuePosition()).isEqualTo(1);
    assertThat(queued.retryAfter().orElseThrow().toMillis()).isBetween(1L, 200L);
    List<String> threads = Collections.synchronizedList(new ArrayList<>());
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
    CompletableFuture<Void> events =
        waiter.thenAccept(outcome -> threads.add(Thread.currentThread().getName()));
    TokenDecision.Granted granted = grantOf(waiter);
    get(events);
    assertThat(granted.tokens()).isEqualTo(20);
    assertThat(threads).noneMatch(name -> name.startsWith("lettuce"));
    assertThat(get(store.poll(queued.ticket()))).contains(granted);
    assertThat(get(store.settle(granted.reservation(), 20))).isPresent();
    assertThat(get(store.poll(queued.ticket()))).isEmpty();
  }

  @Test
  void manyWaiters_areAllGranted() {
    BudgetConfig fast = config(SeedBudget.budget(600_000, 1_000).build());
    RedisBudgetStore store = open(fast);
    RedisBudgetStore other = open(fast);
    get(store.adjust(MODEL, new ProviderAdjustment(1, 0L, Duration.ofMillis(500))));
    List<CompletableFuture<Optional<TokenDecision>>> waiters = new ArrayList<>();
    // More than a portion of a check, and many batches.
    for (int i = 0; i < 600; i++) {
      TokenDecision outcome = get(store.request(request(5)));
      if (outcome instanceof TokenDecision.Queued queued) {
        waiters.add((i % 10 == 0 ? other : store).await(queued.ticket()));
      }
    }
    assertThat(waiters).isNotEmpty();
    waiters.forEach(RedisBudgetStoreTest::grantOf);
    assertThat(waiting(store)).isZero();
    assertThat(status(store).running()).isEqualTo(600);
  }

  @Test
  void cancelledTicket_isRemoved_andItsWaiterIsDenied() {
    RedisBudgetStore store = open();
    granted(store, 1_000);
    TokenDecision.Queued queued = queued(store, 1_000);
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
    assertThat(get(store.cancel(queued.ticket()))).isTrue();
    assertThat(refusalOf(waiter)).isEqualTo(TokenDecision.Reason.CANCELLED);
    assertThat(get(store.cancel(queued.ticket()))).isFalse();
    assertThat(get(store.await(queued.ticket()))).isEmpty();
  }

  @Test
  void cancelledWaiter_leavesItsTicket_whichIsAbandoned() {
    RedisBudgetStore store = open(config(BUDGET, Duration.ofMillis(300)));
    granted(store, 1_000);
    TokenDecision.Queued queued = queued(store, 1_000);
    CompletableFuture<Optional<TokenDecision>> first = store.await(queued.ticket());
    CompletableFuture<Optional<TokenDecision>> second = store.await(queued.ticket());
    first.cancel(false);
    // Another waiter is left: the ticket outlives its idle timeout.
    await().during(Duration.ofMillis(500)).until(() -> waiting(store) == 1);
    second.cancel(false);
    await().until(() -> waiting(store) == 0);
    assertThat(get(store.poll(queued.ticket())))
        .hasValueSatisfying(
            outcome ->
                assertThat(((TokenDecision.Denied) outcome).reason())
                    .isEqualTo(TokenDecision.Reason.ABANDONED));
  }

  @Test
  void deadline_endsTheWait() {
    RedisBudgetStore store = open();
    granted(store, 1_000);
    TokenDecision.Queued queued =
        (TokenDecision.Queued)
            get(store.request(request(1_000).withMaxWait(Duration.ofMillis(50))));
    assertThat(refusalOf(store.await(queued.ticket()))).isEqualTo(TokenDecision.Reason.TIMEOUT);
  }

  @Test
  void adjust_slowsAndPauses() {
    RedisBudgetStore store = open();
    get(store.adjust(MODEL, new ProviderAdjustment(0.5, 100L, Duration.ofMinutes(10))));
    assertThat(queued(store, 10).binding()).isEqualTo(BudgetDimension.PROVIDER);
    assertThat(status(store).available()).isBetween(100L, 499L);
    assertThatThrownBy(
            () -> get(store.adjust("gpt", new ProviderAdjustment(1, null, Duration.ZERO))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("gpt");
  }

  @Test
  void reload_keepsTheLevel_andDeniesWaitersOfARemovedModel() {
    ModelBudget other = SeedBudget.budget(60, 10).build();
    RedisBudgetStore store =
        open(BudgetConfig.builder().models(Map.of(MODEL, BUDGET, "other", other)).build());
    TokenDecision.Granted granted =
        (TokenDecision.Granted)
            get(store.request(TokenRequest.of("other", 10).withPriorityClass(P1)));
    TokenDecision.Queued queued =
        (TokenDecision.Queued)
            get(store.request(TokenRequest.of("other", 10).withPriorityClass(P1)));
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued.ticket());
    granted(store, 1_000);
    get(store.reload(config(SeedBudget.budget(6_000, 2_000).build())));
    assertThat(refusalOf(waiter)).isEqualTo(TokenDecision.Reason.REMOVED);
    assertThat(status(store).available()).isBetween(1_000L, 1_900L);
    assertThatThrownBy(() -> get(store.request(TokenRequest.of("other", 1).withPriorityClass(P1))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("other");
    assertThat(get(store.settle(granted.reservation(), 10))).isPresent();
  }

  @Test
  void limitWithoutExactUnits_isRejected_withTheRule() {
    assertThatThrownBy(() -> open(config(SeedBudget.budget(999_999_999, 1_000_000_000).build())))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("burst_tpm of sonnet must be at most")
        .hasMessageContaining("1000000000");
  }

  @Test
  void hostileNames_areTreatedLikeOthers() {
    List<String> names =
        List.of("a\0b", "a b", "a", "日本語 🎈", "x".repeat(256), "\"\\\n{}", "", "a:b", "*");
    Map<String, ModelBudget.TenantBudget> tenants =
        Map.of(
            "a\0b", new ModelBudget.TenantBudget(Limit.perMinute(60, 10), 2),
            "日本語 🎈", new ModelBudget.TenantBudget(Limit.perMinute(60, 10), 1),
            "\"\\\n{}", new ModelBudget.TenantBudget(Limit.perMinute(60, 10), 1));
    RedisBudgetStore store = open(config(BUDGET.toBuilder().tenants(tenants).build()));
    for (String tenant : names) {
      for (String key : names) {
        if (!key.isEmpty()) {
          TokenRequest request = request(1).withTenant(tenant).withIdempotencyKey(key);
          TokenDecision.Granted first = (TokenDecision.Granted) get(store.request(request));
          assertThat(get(store.request(request))).isEqualTo(first);
        }
      }
    }
    int keys = names.size() - 1;
    assertThat(status(store).running()).isEqualTo(names.size() * keys);
    // A tenant with a spent budget waits; a tenant with a similar name does not.
    for (String tenant : tenants.keySet()) {
      TokenDecision.Queued granted =
          (TokenDecision.Queued) get(store.request(request(9).withTenant(tenant)));
      assertThat(granted.binding()).isEqualTo(BudgetDimension.TENANT);
    }
    assertThat(get(store.request(request(9).withTenant("a"))))
        .isInstanceOf(TokenDecision.Granted.class);
    Optional<TokenSettlement> settled =
        get(
            store.settle(
                ((TokenDecision.Granted) get(store.request(request(1).withTenant("x".repeat(256)))))
                    .reservation(),
                1));
    assertThat(settled).hasValueSatisfying(each -> assertThat(each.tenant()).hasSize(256));
  }

  @Test
  void listener_receivesAllEvents() {
    List<String> events = Collections.synchronizedList(new ArrayList<>());
    RedisBudgetStore store =
        open(
            config(BUDGET),
            new BudgetListener() {
              @Override
              public void requested(TokenRequest request, TokenDecision outcome, long nanos) {
                events.add("asked " + request.tokens() + outcome.getClass().getSimpleName());
              }

              @Override
              public void granted(TokenRequest request, long tokens, long waited, long nanos) {
                events.add("granted " + tokens + (waited > 0 ? " later" : ""));
              }

              @Override
              public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
                events.add("settled " + settled.actualTokens() + (nanos > grantedNanos));
              }

              @Override
              public void refilled(String model, long tokens, long available, long nanos) {
                assertThat(tokens).isPositive();
                assertThat(available).isPositive();
                events.add("refilled");
              }
            });
    TokenDecision.Granted first = granted(store, 1_000);
    // Enough that the request waits on a busy machine, too.
    grantOf(store.await(queued(store, 100).ticket()));
    get(store.settle(first.reservation(), 1_000));
    assertThat(events)
        .contains("refilled")
        .filteredOn(each -> !each.equals("refilled"))
        .containsExactly(
            "granted 1000",
            "asked 1000Granted",
            "asked 100Queued",
            "granted 100 later",
            "settled 1000true");
  }

  @Test
  void close_deniesWaiters_andRejectsLaterCalls() {
    RedisBudgetStore store = open();
    granted(store, 1_000);
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued(store, 1_000).ticket());
    store.close();
    assertThat(refusalOf(waiter)).isEqualTo(TokenDecision.Reason.CLOSED);
    assertThatThrownBy(() -> get(store.request(request(1))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    store.close();
    // Its ticket still waits, and can be polled.
    assertThat(waiting(open())).isEqualTo(1);
  }

  @Test
  void governor_worksOnTheStore() {
    try (Governor governor =
        Governor.builder(config(BUDGET))
            .store(
                RedisBudgets.builder()
                    .url(redis.uri())
                    .prefix(prefix)
                    .timeout(Duration.ofSeconds(20))
                    .build())
            .build()) {
      TokenDecision.Granted granted =
          (TokenDecision.Granted)
              governor.blocking().request(TokenRequest.of(MODEL, 1_000).withPriorityClass(P1));
      assertThat(governor.blocking().request(TokenRequest.of(MODEL, 10).withPriorityClass(P1)))
          .isInstanceOf(TokenDecision.Queued.class);
      assertThat(governor.blocking().settle(granted.reservation(), 1_000)).isPresent();
    }
  }

  // ---- two nodes

  @Test
  void ticketOfOneNode_isAwaitedAtAnother() {
    RedisBudgetStore one = open();
    RedisBudgetStore other = open();
    granted(one, 1_000);
    TokenDecision.Queued queued = queued(one, 20);
    TokenDecision.Granted granted = grantOf(other.await(queued.ticket()));
    assertThat(get(one.poll(queued.ticket()))).contains(granted);
    assertThat(get(one.settle(granted.reservation(), 20))).isPresent();
  }

  /** Earlier messages are lost. */
  private void awaitListeners(long nodes) {
    String channel = ModelKeys.of(prefix, MODEL).channel();
    await().until(() -> List.of(channel, nodes).equals(redis.command("PUBSUB", "NUMSUB", channel)));
  }

  @Test
  void nodes_shareOneWaitingList_andNotifyEachOther() {
    // No node polls for minutes, and time frees no slot: only a notice delivers the grant.
    BudgetConfig config =
        config(BUDGET.toBuilder().maxConcurrentRequests(1).build(), Duration.ofMinutes(10));
    RedisBudgetStore one = open(config);
    RedisBudgetStore other = open(config);
    awaitListeners(2);
    TokenDecision.Granted running = granted(one, 1);
    TokenDecision.Queued first = queued(one, 1);
    TokenDecision.Queued second = queued(other, 1);
    assertThat(second.queuePosition()).isEqualTo(2);
    CompletableFuture<Optional<TokenDecision>> firstGrant = other.await(first.ticket());
    CompletableFuture<Optional<TokenDecision>> secondGrant = one.await(second.ticket());
    get(other.poll(first.ticket()));
    get(one.poll(second.ticket()));
    get(one.settle(running.reservation(), 1));
    TokenDecision.Granted next = grantOf(firstGrant);
    assertThat(secondGrant).isNotDone();
    get(other.settle(next.reservation(), 1));
    grantOf(secondGrant);
  }

  @Test
  void denialAtAnotherNode_isDelivered() {
    RedisBudgetStore one = open();
    RedisBudgetStore other = open();
    awaitListeners(2);
    granted(one, 1_000);
    TokenDecision.Queued queued = queued(one, 1_000);
    CompletableFuture<Optional<TokenDecision>> waiter = other.await(queued.ticket());
    get(other.poll(queued.ticket()));
    assertThat(get(one.cancel(queued.ticket()))).isTrue();
    assertThat(refusalOf(waiter)).isEqualTo(TokenDecision.Reason.CANCELLED);
  }

  @Test
  void lostMessage_isReplacedByTheNextCheck() {
    BudgetConfig config =
        config(BUDGET.toBuilder().maxConcurrentRequests(1).build(), Duration.ofSeconds(2));
    RedisBudgetStore one = open(config);
    RedisBudgetStore other = open(config);
    TokenDecision.Granted running = granted(one, 1);
    TokenDecision.Queued queued = queued(one, 1);
    CompletableFuture<Optional<TokenDecision>> waiter = other.await(queued.ticket());
    get(other.poll(queued.ticket()));
    redis.command("CLIENT", "KILL", "TYPE", "pubsub");
    get(one.settle(running.reservation(), 1));
    grantOf(waiter);
  }

  // ---- lost data

  @Test
  void flushedScripts_areLoadedAgain() {
    RedisBudgetStore store = open();
    granted(store, 1);
    redis.command("SCRIPT", "FLUSH");
    granted(store, 1);
    assertThat(status(store).running()).isEqualTo(2);
  }

  @Test
  void lostState_restartsEmpty() {
    RedisBudgetStore store = open();
    TokenDecision.Granted granted = granted(store, 1);
    granted(store, 900);
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued(store, 1_000).ticket());
    redis.command("FLUSHALL");
    TokenDecision.Queued queued = queued(store, 500);
    assertThat(queued.eta().orElseThrow().toMillis()).isBetween(4_000L, 5_000L);
    assertThat(get(store.settle(granted.reservation(), 0)))
        .hasValueSatisfying(settled -> assertThat(settled.refundedTokens()).isZero());
    // Its ticket is lost.
    assertThat(get(waiter)).isEmpty();
  }
}
