package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Changes of the configuration with more waiters than Redis can requeue in one call. */
@Tag("any-jdk")
@Timeout(300)
class LongWaitingListTest {
  private static final String MODEL = "m";
  private static final String P1 = "P1_user";
  private static final int MANY = 1_200;

  /** The waiting list of {@link TimedScripts}. */
  private static final String TIMED_WAITING_LIST = new ModelKeys("", "timed").all()[2];

  /** Long enough that no outage starts. */
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /** Long enough that no ticket is abandoned, even on a busy machine. */
  private static final Duration IDLE_TIMEOUT = Duration.ofMinutes(10);

  private static BudgetConfig config(long tpm, long burst) {
    return config(Map.of(MODEL, SeedBudget.budget(tpm, burst).build()));
  }

  private static BudgetConfig config(Map<String, ModelBudget> models) {
    WaitingListConfig defaults = WaitingListConfig.builder().build();
    WaitingListConfig waitingList =
        WaitingListConfig.builder()
            .maxWaiting(defaults.maxWaiting())
            .ticketIdleTimeout(IDLE_TIMEOUT)
            .reservationTimeout(defaults.reservationTimeout())
            .drainBatch(defaults.drainBatch())
            .refillInterval(defaults.refillInterval())
            .build();
    return BudgetConfig.builder().models(models).waitingList(waitingList).build();
  }

  private static BudgetStore open(RedisServer redis, BudgetConfig config) {
    return RedisBudgets.builder()
        .url(redis.uri())
        .timeout(TIMEOUT)
        .build()
        .open(config, BudgetListener.NONE);
  }

  /** A waiting list that no node polls. */
  private static BudgetStore openWithoutPolls(RedisServer redis, BudgetConfig config) {
    return RedisBudgets.builder()
        .url(redis.uri())
        .timeout(TIMEOUT)
        .timer(
            new StoreTimer() {
              @Override
              public long nanoTime() {
                return 0;
              }

              @Override
              public void schedule(long nanos, Runnable action) {}

              @Override
              public void execute(Runnable action) {
                action.run();
              }

              @Override
              public void close() {}
            })
        .build()
        .open(config, BudgetListener.NONE);
  }

  private static <T> T get(CompletableFuture<T> answer) throws Exception {
    return answer.get(120, TimeUnit.SECONDS);
  }

  /** Sends requests in this order. */
  private static List<TokenDecision> ask(
      BudgetStore store, int count, IntFunction<TokenRequest> each) throws Exception {
    List<CompletableFuture<TokenDecision>> asked = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      asked.add(store.request(each.apply(i)));
    }
    List<TokenDecision> outcomes = new ArrayList<>();
    for (CompletableFuture<TokenDecision> one : asked) {
      outcomes.add(get(one));
    }
    return outcomes;
  }

  private static String ticket(TokenDecision outcome) {
    return ((TokenDecision.Queued) outcome).ticket();
  }

  @Test
  void reload_keepsTheOrder_andDeniesTicketsThatAreTooLargeNow() throws Exception {
    try (RedisServer redis = RedisServer.start();
        BudgetStore store = open(redis, config(60, 1_000))) {
      get(store.request(TokenRequest.of(MODEL, 1_000).withPriorityClass(P1)));
      List<TokenDecision> waiting =
          ask(store, MANY, i -> TokenRequest.of(MODEL, i == 1 ? 900 : 100).withPriorityClass(P1));
      CompletableFuture<Optional<TokenDecision>> first = store.await(ticket(waiting.get(0)));
      CompletableFuture<Optional<TokenDecision>> large = store.await(ticket(waiting.get(1)));
      CompletableFuture<Optional<TokenDecision>> third = store.await(ticket(waiting.get(2)));

      get(store.reload(config(60_000, 500)));

      assertThat(get(first)).get().isInstanceOf(TokenDecision.Granted.class);
      assertThat(get(large)).get().isInstanceOf(TokenDecision.Impossible.class);
      assertThat(get(third)).get().isInstanceOf(TokenDecision.Granted.class);
      Optional<TokenDecision> last = get(store.poll(ticket(waiting.get(MANY - 1))));
      assertThat(last).get().isInstanceOf(TokenDecision.Queued.class);
    }
  }

  /*
   * Uses the scripts alone: a node sends the configuration again until it is confirmed, and each
   * call denies another portion.
   */
  @Test
  void reload_deniesTooLargeTickets_inPortions() {
    long now = 1_000_000_000_000L;
    try (RedisServer redis = RedisServer.start()) {
      TimedScripts scripts = new TimedScripts(redis);
      scripts.run("configure", now, configuration(1_000));
      assertThat(ask(scripts, now, "spent", "queue", 1_000)).isEqualTo("g");
      for (int i = 0; i < MANY; i++) {
        assertThat(ask(scripts, now, "t" + i, "queue", i % 2 == 0 ? 900 : 800)).isEqualTo("q");
      }
      scripts.run("configure", now, configuration(500));
      assertThat(redis.command("ZCARD", TIMED_WAITING_LIST)).isEqualTo(MANY - 100L);
      assertThat(ask(scripts, now, "small", "now", 1)).isEqualTo("n");
      for (long left = MANY - 200; left > 0; left -= 100) {
        assertThat(redis.command("ZCARD", TIMED_WAITING_LIST)).isEqualTo(left);
        scripts.run("poll", now, List.of("status"));
      }
      assertThat(redis.command("ZCARD", TIMED_WAITING_LIST)).isEqualTo(0L);
    }
  }

  private static List<String> configuration(long burst) {
    ModelBudget budget = SeedBudget.budget(60, burst).build();
    return TimedScripts.configuration(MODEL, budget, WaitingListConfig.builder().build());
  }

  private static Object ask(
      TimedScripts scripts, long micros, String id, String mode, long tokens) {
    String text = Long.toString(tokens);
    return scripts
        .run("request", micros, List.of(id, mode, "", P1, text, text, "0", "", ""))
        .get(0);
  }

  @Test
  void reload_deniesALongWaitingList_toTheLastTicket() throws Exception {
    String waitingList = ModelKeys.of("token-governor:", MODEL).all()[2];
    try (RedisServer redis = RedisServer.start();
        BudgetStore store = open(redis, config(60, 1_000))) {
      get(store.request(TokenRequest.of(MODEL, 1_000).withPriorityClass(P1)));
      List<TokenDecision> waiting =
          ask(
              store,
              MANY,
              i -> TokenRequest.of(MODEL, i % 2 == 0 ? 900 : 800).withPriorityClass(P1));
      CompletableFuture<Optional<TokenDecision>> last = store.await(ticket(waiting.get(MANY - 1)));

      get(store.reload(config(60, 500)));

      assertThat(get(last)).get().isInstanceOf(TokenDecision.Impossible.class);
      assertThat(redis.command("ZCARD", waitingList)).isEqualTo(0L);
    }
  }

  @Test
  void reload_withAnotherClassBehind_keepsTheOrder() throws Exception {
    Map<String, Double> classes = new LinkedHashMap<>();
    List.of("P0_clinical", P1, "P3_other", "P4_new").forEach(name -> classes.put(name, 1.0));
    BudgetConfig more =
        config(Map.of(MODEL, SeedBudget.budget(60, 1_000).priorityClasses(classes).build()));
    try (RedisServer redis = RedisServer.start();
        BudgetStore store = openWithoutPolls(redis, config(60, 1_000))) {
      get(store.request(TokenRequest.of(MODEL, 1_000).withPriorityClass(P1)));
      List<TokenDecision> waiting =
          ask(store, MANY, i -> TokenRequest.of(MODEL, 900).withPriorityClass(P1));
      redis.command("CONFIG", "RESETSTAT");
      get(store.reload(more));
      assertThat(redis.info("commandstats", "cmdstat_del")).isEmpty();
      assertThat(get(store.poll(ticket(waiting.get(MANY - 1)))))
          .get()
          .isInstanceOfSatisfying(
              TokenDecision.Queued.class,
              queued -> assertThat(queued.queuePosition()).isEqualTo(MANY));
      assertThat(get(store.request(TokenRequest.of(MODEL, 1).withPriorityClass("P4_new"))))
          .isInstanceOf(TokenDecision.Queued.class);
    }
  }

  @Test
  void portionOfSkippedHeads_isAnnouncedToOtherNodes() {
    int many = 202;
    long now = 1_000_000_000_000L;
    try (RedisServer redis = RedisServer.start()) {
      TimedScripts scripts = new TimedScripts(redis);
      ModelBudget budget =
          SeedBudget.budget(6_000_000, 100_000)
              .tenants(Map.of("*", new ModelBudget.TenantBudget(Limit.perMinute(60, 10), 1)))
              .build();
      scripts.run(
          "configure",
          now,
          TimedScripts.configuration(MODEL, budget, WaitingListConfig.builder().build()));
      for (int i = 0; i < many; i++) {
        assertThat(ask(scripts, now, "spent" + i, "t" + i)).isEqualTo("g");
      }
      scripts.run("configure", now, List.of("adjust", "1", "", "1000000", "1"));
      assertThat(ask(scripts, now, "first", "other")).isEqualTo("q");
      for (int i = 0; i < many; i++) {
        assertThat(ask(scripts, now, "behind" + i, "t" + i)).isEqualTo("q");
      }
      now += 1_000_000;
      scripts.run("poll", now, List.of("status"));
      redis.command("CONFIG", "RESETSTAT");
      scripts.run("poll", now, List.of("status"));
      assertThat(redis.info("commandstats", "cmdstat_publish")).contains("calls=1,");
      // All heads have been skipped.
      scripts.run("poll", now, List.of("status"));
      assertThat(redis.info("commandstats", "cmdstat_publish")).contains("calls=1,");
    }
  }

  private static Object ask(TimedScripts scripts, long micros, String id, String tenant) {
    return scripts
        .run("request", micros, List.of(id, "queue", tenant, P1, "10", "10", "0", "", ""))
        .get(0);
  }

  @Test
  void removedModel_deniesAllTickets() throws Exception {
    try (RedisServer redis = RedisServer.start();
        BudgetStore store = open(redis, config(60, 1_000))) {
      get(store.request(TokenRequest.of(MODEL, 1_000).withPriorityClass(P1)));
      List<TokenDecision> waiting =
          ask(store, MANY, i -> TokenRequest.of(MODEL, 100).withPriorityClass(P1));

      get(store.reload(config(Map.of("other", SeedBudget.budget(60, 1).build()))));

      for (int i : new int[] {0, MANY / 2, MANY - 1}) {
        assertThat(get(store.poll(ticket(waiting.get(i)))))
            .get()
            .isInstanceOfSatisfying(
                Denied.class,
                refused -> assertThat(refused.reason()).isEqualTo(TokenDecision.Reason.REMOVED));
      }
    }
  }

  @Test
  void keyOfOneTenant_isNotFoundByAnother() throws Exception {
    try (RedisServer redis = RedisServer.start();
        BudgetStore store = open(redis, config(60, 1_000))) {
      List<String> names = List.of("a", "a\0b", "a:", "1:a");
      List<String> keys = List.of("b\0c", "c", "b", ":b\0c");
      List<TokenDecision> outcomes =
          ask(
              store,
              names.size() * keys.size(),
              i ->
                  TokenRequest.of(MODEL, 10)
                      .withPriorityClass(P1)
                      .withTenant(names.get(i / keys.size()))
                      .withIdempotencyKey(keys.get(i % keys.size())));
      assertThat(outcomes.stream().map(each -> ((TokenDecision.Granted) each).reservation()))
          .doesNotHaveDuplicates();
    }
  }
}
