package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenExplanation.Outcome;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.load.GrantLog;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/**
 * Invariants of every budget store over random days of a model. Subclasses supply the store.
 *
 * @since 0.1
 */
public abstract class BudgetPropertyContract extends BudgetSuite {
  private static final int STEPS = 80;
  private static final long MINUTE_NANOS = MINUTE.toNanos();
  private static final WaitingListConfig RULES =
      WaitingListConfig.builder()
          .maxWaiting(1_000)
          .ticketIdleTimeout(Duration.ofHours(20))
          .reservationTimeout(Duration.ofSeconds(20))
          .drainBatch(1_000)
          .refillInterval(MINUTE)
          .build();

  /**
   * How many days to try.
   *
   * @return less where a day takes long
   */
  protected int days() {
    return Integer.getInteger("sluice.seeds", 40);
  }

  @Test
  void randomDay_keepsLimitAndOrder_andServesEveryRequest() throws Exception {
    for (long seed = 0; seed < days(); seed++) {
      Day day = new Day(seed);
      try {
        day.run();
        day.requireEveryWindow();
        day.requireOrder();
        day.requireAllServed();
        day.requireEveryWindow();
        day.requireOrder();
      } catch (AssertionError | RuntimeException failure) {
        throw new AssertionError("seed " + seed, failure);
      } finally {
        closeAll();
      }
    }
  }

  /** The order, times and net tokens of grants, by the idempotency key of the request. */
  private static final class Book implements BudgetListener {
    final List<String> order = new CopyOnWriteArrayList<>();
    final Map<String, Long> times = new ConcurrentHashMap<>();
    final Map<String, Long> net = new ConcurrentHashMap<>();

    @Override
    public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
      String key = Objects.requireNonNull(request.idempotencyKey());
      order.add(key);
      times.put(key, nanos);
      net.put(key, tokens);
    }
  }

  /** One run, by its seed. */
  private final class Day {
    final Random random;
    final ModelBudget budget;
    final Book book = new Book();
    final BudgetHarness rig;
    final Map<String, TokenRequest> asked = new LinkedHashMap<>();
    final Map<String, TokenDecision.Queued> waiting = new LinkedHashMap<>();
    final Map<String, TokenDecision.Granted> open = new LinkedHashMap<>();

    Day(long seed) {
      random = new Random(seed);
      int burst = 1_000 + random.nextInt(9_000);
      int target = 6_000 + random.nextInt(60_000);
      Allocation allocation = List.copyOf(EnumSet.allOf(Allocation.class)).get(random.nextInt(3));
      ModelBudget chosen =
          SeedBudget.budget(target, burst)
              .allocation(allocation)
              .priorityClasses(SeedBudget.CLASSES)
              .build();
      if (random.nextBoolean()) {
        chosen = chosen.toBuilder().requests(Limit.perSecond(5), Limit.perMinute(200)).build();
      }
      if (random.nextBoolean()) {
        chosen = chosen.toBuilder().maxConcurrentRequests(4).build();
      }
      if (random.nextBoolean()) {
        chosen =
            chosen.toBuilder()
                .priorityClasses(SeedBudget.CLASSES)
                .minimumShares(Map.of(P2, 0.25))
                .build();
      }
      budget =
          chosen.toBuilder()
              .tenants(
                  Map.of(
                      "b", new ModelBudget.TenantBudget(Limit.perMinute(target, burst), 3),
                      "c", new ModelBudget.TenantBudget(Limit.perMinute(target / 4, burst / 3), 1)))
              .build();
      rig = open(config(Map.of(MODEL, budget), RULES), book);
    }

    void run() {
      for (int step = 0; step < STEPS; step++) {
        switch (random.nextInt(12)) {
          case 0, 1, 2, 3, 4, 5 -> ask();
          case 6, 7 -> settle();
          case 8 -> cancel();
          case 9 -> hearTheProvider();
          default -> advance(Duration.ofMillis(random.nextInt(3_000)));
        }
      }
    }

    private void ask() {
      String tenant = String.valueOf("abc".charAt(random.nextInt(3)));
      String priority = List.of(P0, P1, P2).get(random.nextInt(3));
      String key = String.valueOf(asked.size());
      TokenRequest request =
          request(1 + random.nextInt((int) budget.tokens().capacity() / 2), priority)
              .withTenant(tenant)
              .withIdempotencyKey(key);
      TokenExplanation foretold = rig.explain(request);
      TokenDecision outcome = rig.ask(request);
      requireForetold(foretold, outcome);
      if (outcome instanceof TokenDecision.Queued queued) {
        waiting.put(key, queued);
      }
      if (outcome instanceof TokenDecision.Granted granted) {
        open.put(key, granted);
      }
      asked.put(key, request);
    }

    private void requireForetold(TokenExplanation foretold, TokenDecision outcome) {
      if (outcome instanceof TokenDecision.Queued queued) {
        assertThat(foretold.outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(queued.queuePosition()).isEqualTo(foretold.queuePosition());
        assertThat(queued.retryAfter()).isEqualTo(foretold.retryAfter());
        assertThat(queued.eta()).isEqualTo(foretold.eta());
        assertThat(queued.binding()).isEqualTo(foretold.binding());
      } else {
        assertThat(foretold.outcome())
            .isEqualTo(
                outcome.isGranted()
                    ? Outcome.GRANTED
                    : outcome instanceof TokenDecision.Impossible
                        ? Outcome.IMPOSSIBLE
                        : Outcome.DENIED);
      }
    }

    /** A request that was granted meanwhile is known by its ticket. */
    private void claim() {
      for (Map.Entry<String, TokenDecision.Queued> each : List.copyOf(waiting.entrySet())) {
        Optional<TokenDecision> outcome = rig.poll(each.getValue());
        if (outcome.isEmpty()) {
          // Granted, and the reservation expired before it was polled.
          waiting.remove(each.getKey());
        } else if (outcome.get() instanceof TokenDecision.Granted granted) {
          waiting.remove(each.getKey());
          open.put(each.getKey(), granted);
        }
      }
    }

    private void settle() {
      claim();
      if (!open.isEmpty()) {
        String key = List.copyOf(open.keySet()).get(random.nextInt(open.size()));
        TokenDecision.Granted granted = Objects.requireNonNull(open.remove(key));
        int most = (int) Math.min(Integer.MAX_VALUE, granted.tokens() * 5 / 4);
        rig.settle(granted, random.nextInt(most + 1))
            .ifPresent(settled -> book.net.merge(key, -settled.refundedTokens(), Long::sum));
      }
    }

    private void cancel() {
      claim();
      if (!waiting.isEmpty()) {
        String key = List.copyOf(waiting.keySet()).get(random.nextInt(waiting.size()));
        TokenDecision.Queued left = Objects.requireNonNull(waiting.remove(key));
        assertThat(rig.cancel(left)).isTrue();
        assertThat(rig.cancel(left)).isFalse();
      }
    }

    /** Reports feedback of a provider, which never adds tokens. */
    private void hearTheProvider() {
      switch (random.nextInt(6)) {
        case 0 -> rig.adjust(1, null, Duration.ofMillis(random.nextInt(1_000)));
        case 1 ->
            rig.adjust(1, (long) random.nextInt((int) budget.tokens().capacity()), Duration.ZERO);
        case 2, 3 -> rig.adjust(0.25 + 0.75 * random.nextDouble(), null, Duration.ZERO);
        default -> rig.adjust(1, null, Duration.ZERO);
      }
    }

    /** In every window, at most the burst and the accrued tokens are charged in the end. */
    void requireEveryWindow() {
      GrantLog log = new GrantLog();
      book.net.forEach(
          (key, tokens) -> log.record(Objects.requireNonNull(book.times.get(key)), tokens));
      assertThat(
              log.maxExcess(
                  budget.tokens().capacity(), budget.tokens().refillTokens(), MINUTE_NANOS))
          .isLessThanOrEqualTo(0);
    }

    /** First come, first served for each tenant and class. */
    void requireOrder() {
      Map<String, List<Integer>> turns = new LinkedHashMap<>();
      for (String key : book.order) {
        TokenRequest request = Objects.requireNonNull(asked.get(key));
        turns
            .computeIfAbsent(
                request.tenant() + request.priorityClass(), unused -> new ArrayList<>())
            .add(Integer.valueOf(key));
      }
      assertThat(turns.values()).allSatisfy(each -> assertThat(each).isSorted());
    }

    /** In the end every request was granted or canceled, and all tokens and slots are free. */
    void requireAllServed() {
      rig.adjust(1, null, Duration.ZERO);
      claim();
      for (int i = 0; i < 200 && !waiting.isEmpty(); i++) {
        settle();
        advance(Duration.ofSeconds(10));
        claim();
      }
      assertThat(waiting).isEmpty();
      while (!open.isEmpty()) {
        settle();
      }
      assertThat(rig.status().running()).isZero();
      advance(Duration.ofHours(1));
      assertThat(rig.available()).isEqualTo(budget.tokens().capacity());
    }
  }
}
