package dev.sluice.governor;

import static dev.sluice.governor.Rig.P0;
import static dev.sluice.governor.Rig.P1;
import static dev.sluice.governor.Rig.P2;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Many threads at one governor, in real time. */
class GovernorStressTest {
  private static final int THREADS = 8;
  private static final long NANOS = 2 * WaitingListFixture.SECOND;
  private static final long TARGET = 60_000_000;
  private static final long BURST = 1_000_000;
  private static final int CONCURRENCY = 16;
  private static final String FREE = "free";
  private static final String NARROW = "narrow";

  /** The decisions that the threads received. */
  private static final class Ledger {
    final Map<String, AtomicLong> charged =
        Map.of(FREE, new AtomicLong(), NARROW, new AtomicLong());
    final AtomicInteger open = new AtomicInteger();
    final AtomicInteger mostOpen = new AtomicInteger();
    final AtomicLong waited = new AtomicLong();
    final ConcurrentLinkedQueue<CompletableFuture<Optional<TokenDecision>>> awaited =
        new ConcurrentLinkedQueue<>();
  }

  private final Ledger ledger = new Ledger();

  private void client(Governor governor, long seed, long until) {
    Random random = new Random(seed);
    // On a busy machine it may take longer until the first one has to wait.
    while (System.nanoTime() - until < 0 || ledger.waited.get() == 0) {
      String model = random.nextBoolean() ? FREE : NARROW;
      String priority = List.of(P0, P1, P2).get(random.nextInt(3));
      TokenRequest request =
          TokenRequest.of(model, 1 + random.nextInt(20_000))
              .withPriorityClass(priority)
              .withTenant("tenant" + random.nextInt(3));
      TokenDecision outcome = governor.blocking().request(request);
      if (outcome instanceof TokenDecision.Granted granted) {
        use(governor, granted, random.nextInt(20_000));
      } else if (outcome instanceof TokenDecision.Queued queued) {
        stand(governor, queued, random);
      }
    }
  }

  private void stand(Governor governor, TokenDecision.Queued queued, Random random) {
    int actual = random.nextInt(20_000);
    switch (random.nextInt(4)) {
      case 0 -> governor.blocking().cancel(queued.ticket());
      case 1 -> {
        TokenDecision now = governor.blocking().poll(queued.ticket()).orElseThrow();
        if (now instanceof TokenDecision.Granted granted) {
          use(governor, granted, actual);
        } else {
          governor.blocking().cancel(queued.ticket());
        }
      }
      default -> {
        ledger.waited.incrementAndGet();
        ledger.awaited.add(
            governor
                .await(queued.ticket())
                .whenComplete(
                    (outcome, failure) -> {
                      if (outcome.orElseThrow() instanceof TokenDecision.Granted granted) {
                        use(governor, granted, actual);
                      }
                    }));
      }
    }
  }

  private void use(Governor governor, TokenDecision.Granted granted, long actual) {
    boolean narrow = granted.model().equals(NARROW);
    if (narrow) {
      ledger.mostOpen.accumulateAndGet(ledger.open.incrementAndGet(), Math::max);
    }
    Thread.onSpinWait();
    if (narrow) {
      ledger.open.decrementAndGet();
    }
    long used = Math.min(actual, granted.tokens());
    TokenSettlement settled = governor.blocking().settle(granted.reservation(), used).orElseThrow();
    ledger.charged.get(granted.model()).addAndGet(granted.tokens() - settled.refundedTokens());
  }

  @Test
  void manyThreads_neverExceedTheLimit_andEveryWaiterIsDecided() throws Exception {
    Map<String, ModelBudget> models =
        Map.of(
            FREE, SeedBudget.budget(TARGET, BURST).build(),
            NARROW,
                SeedBudget.budget(TARGET, BURST)
                    .allocation(Allocation.CEILING)
                    .priorityClasses(SeedBudget.CLASSES)
                    .maxConcurrentRequests(CONCURRENCY)
                    .build());
    long start = System.nanoTime();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try (Governor governor =
        Governor.create(Rig.config(models, Rig.rules(500, Duration.ofSeconds(30))))) {
      List<Future<?>> clients = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        long seed = i;
        clients.add(threads.submit(() -> client(governor, seed, start + NANOS)));
      }
      for (Future<?> each : clients) {
        each.get(60, TimeUnit.SECONDS);
      }
      for (CompletableFuture<Optional<TokenDecision>> each : ledger.awaited) {
        assertThat(each.get(60, TimeUnit.SECONDS)).containsInstanceOf(TokenDecision.Granted.class);
      }
      long nanos = System.nanoTime() - start;
      assertThat(ledger.waited.get()).isPositive();
      assertThat(ledger.mostOpen.get()).isBetween(1, CONCURRENCY);
      for (String model : models.keySet()) {
        GovernorStatus.Model status = governor.blocking().status().models().get(model);
        long charged = ledger.charged.get(model).get();
        // A machine that is busy with other work may not even use the burst.
        assertThat(charged).isBetween(1L, BURST + TARGET * nanos / WaitingListFixture.MINUTE);
        assertThat(status.counts().tokensConsumed()).isGreaterThanOrEqualTo(charged);
        assertThat(status.running()).isZero();
        assertThat(status.queueLengths().values()).containsOnly(0);
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
