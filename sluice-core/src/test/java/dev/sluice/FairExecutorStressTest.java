package dev.sluice;

import static dev.sluice.Threads.sumOver;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The executor under real threads: nothing lost, nothing twice, no bound broken. */
@Timeout(120)
final class FairExecutorStressTest {
  private static final int TASKS = 20_000;

  @Test
  void cancelStorm_ownThreads_eachTaskRanOnceOrWasCancelled() {
    FairExecutor.Builder builder = FairExecutor.builder().threads(2);
    try (FairExecutor executor = stormProof(builder)) {
      cancelStorm(executor);
    }
  }

  @Test
  void cancelStorm_foreignThreads_eachTaskRanOnceOrWasCancelled() {
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try (FairExecutor executor = stormProof(FairExecutor.builder().executor(pool, 3))) {
      cancelStorm(executor);
    } finally {
      pool.shutdown();
    }
  }

  private static FairExecutor stormProof(FairExecutor.Builder builder) {
    return builder
        .clock(ManualClock.create())
        .maxQueued(4 * TASKS)
        .limit("provider", Limit.ofRate(0, 4 * TASKS))
        .build();
  }

  private static void cancelStorm(FairExecutor executor) {
    AtomicInteger ran = new AtomicInteger();
    AtomicInteger canceled = new AtomicInteger();
    Queue<CompletableFuture<Integer>> all = new ConcurrentLinkedQueue<>();
    sumOver(
        4,
        () -> {
          ThreadLocalRandom random = ThreadLocalRandom.current();
          List<CompletableFuture<Integer>> mine = new ArrayList<>();
          for (int i = 0; i < TASKS; i++) {
            Placement placement =
                Placement.of("tenant-" + random.nextInt(50)).withThrottleKeys("provider");
            mine.add(executor.submit(placement, ran::incrementAndGet));
            if (random.nextBoolean()
                && mine.get(mine.size() - 1 - random.nextInt(Math.min(9, mine.size())))
                    .cancel(true)) {
              canceled.incrementAndGet();
            }
          }
          all.addAll(mine);
          return 0;
        });
    long dropped = all.stream().filter(future -> outcome(future) == null).count();
    assertThat(ran.get() + dropped).isEqualTo(4L * TASKS);
    // cancel() says true again for one that was canceled before
    assertThat(dropped).isPositive().isLessThanOrEqualTo(canceled.get());
    assertThat(executor.queued()).isZero();
    assertThat(executor.limitStats().get(0).level()).isEqualTo(4.0 * TASKS - ran.get());
  }

  /** The result of the task; null if it was canceled. */
  private static Integer outcome(CompletableFuture<Integer> future) {
    return future.handle((result, failure) -> future.isCancelled() ? null : result).join();
  }

  @Test
  void maxQueued_manyThreads_isExact() throws InterruptedException {
    CountDownLatch release = new CountDownLatch(1);
    AtomicInteger ran = new AtomicInteger();
    FairExecutor executor = FairExecutor.builder().threads(2).maxQueued(1_000).build();
    long accepted =
        sumOver(
            4,
            () -> {
              long count = 0;
              for (int i = 0; i < 1_000; i++) {
                try {
                  executor.execute(
                      () -> {
                        FairExecutorShutdownTest.awaitQuietly(release);
                        ran.incrementAndGet();
                      });
                  count++;
                } catch (RejectedExecutionException full) {
                  assertThat(executor.queued()).isEqualTo(1_000);
                }
              }
              return count;
            });
    assertThat(accepted).isEqualTo(1_002);
    assertThat(executor.running()).isEqualTo(2);
    release.countDown();
    executor.close();
    assertThat(ran).hasValue(1_002);
  }

  @Test
  void maxQueuedOfOne_idleWorkers_rejectNoTask() {
    try (FairExecutor executor = FairExecutor.builder().threads(4).maxQueued(1).build()) {
      for (int round = 0; round < 500; round++) {
        sumOver(
            4,
            () -> {
              return executor.submit("tenant", () -> 1).join();
            });
        awaitIdle(executor);
      }
    }
  }

  @Test
  void setMaxInFlightPerKey_ownThreads_isNeverExceeded() {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicInteger ran = new AtomicInteger();
    try (FairExecutor executor = FairExecutor.builder().threads(6).maxQueued(TASKS).build()) {
      executor.setMaxInFlight("limited", 2);
      for (int i = 0; i < TASKS / 2; i++) {
        executor.execute(
            Placement.of("limited"),
            () -> {
              most.accumulateAndGet(inside.incrementAndGet(), Math::max);
              Thread.onSpinWait();
              inside.decrementAndGet();
              ran.incrementAndGet();
            });
        executor.execute(Placement.of("free"), ran::incrementAndGet);
      }
    }
    assertThat(ran).hasValue(TASKS);
    assertThat(most.get()).isBetween(1, 2);
  }

  /** A worker sets the alarm while another thread moves the clock past that instant. */
  @Test
  void manualClock_movedByAnotherThread_losesNoWakeUp() throws Exception {
    ManualClock clock = ManualClock.create();
    FairExecutor executor =
        FairExecutor.builder()
            .threads(2)
            .clock(clock)
            .limit("provider", Limit.ofRate(1_000_000, 1))
            .build();
    executor.setMaxInFlight("tenant", 1);
    Placement call = Placement.of("tenant").withThrottleKeys("provider");
    for (int i = 0; i < TASKS; i++) {
      // The second has no slot, and so no alarm, before the first ends on its worker.
      CompletableFuture<Integer> first = executor.submit(call, () -> 1);
      CompletableFuture<Integer> second = executor.submit(call, () -> 2);
      spin(i % 2_000);
      clock.advanceNanos(1_000);
      first.get(30, TimeUnit.SECONDS);
      second.get(30, TimeUnit.SECONDS);
      clock.advanceNanos(1_000);
      awaitIdle(executor);
    }
    executor.close();
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  /** Meets another thread at ever other points of its way. */
  private static void spin(int turns) {
    for (int i = 0; i < turns; i++) {
      Thread.onSpinWait();
    }
  }

  /** A future is done a moment before its task has left its worker. */
  private static void awaitIdle(FairExecutor executor) {
    while (executor.running() > 0) {
      Thread.onSpinWait();
    }
  }

  /** On the real timer. A task begins after its tokens were taken, but the next are taken later. */
  @Test
  void realClock_allRunAndNoneTooEarly() {
    List<Long> log = Collections.synchronizedList(new ArrayList<>());
    NanoClock clock = NanoClock.system();
    long start = clock.nanoTime();
    try (FairExecutor executor = FairExecutor.builder().threads(2).build()) {
      executor.setLimit("provider", Limit.ofRate(2_000, 20));
      sumOver(
          3,
          () -> {
            String tenant = "tenant-" + Thread.currentThread().getId();
            for (int i = 0; i < 300; i++) {
              executor.execute(
                  Placement.of(tenant).withThrottleKeys("provider"),
                  () -> log.add(clock.nanoTime()));
            }
            return 0;
          });
    }
    assertThat(log).hasSize(900);
    Collections.sort(log);
    for (int i = 0; i < 900; i++) {
      assertThat(log.get(i) - start).isGreaterThanOrEqualTo((i + 1 - 20) * 500_000L);
    }
  }

  @Test
  void ratesAndWeightsChangingUnderLoad_loseNoTask() {
    AtomicInteger ran = new AtomicInteger();
    try (FairExecutor executor = FairExecutor.builder().threads(2).maxQueued(TASKS).build()) {
      sumOver(
          2,
          () -> {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            for (int i = 0; i < TASKS / 2; i++) {
              String throttle = "throttle-" + random.nextInt(5);
              String tenant = "tenant-" + random.nextInt(20);
              executor.execute(
                  Placement.of(tenant).withThrottleKeys(throttle), ran::incrementAndGet);
              switch (random.nextInt(10)) {
                case 0 ->
                    executor.setLimit(
                        throttle, Limit.ofRate(random.nextInt(100_000), 1 + random.nextInt(8)));
                case 1 -> executor.removeLimit(throttle);
                case 2 -> executor.setWeight(tenant, 1 + random.nextInt(5));
                case 3 -> executor.setMaxInFlight(tenant, 1 + random.nextInt(3));
                default -> Thread.onSpinWait();
              }
            }
            return 0;
          });
      for (int i = 0; i < 5; i++) {
        executor.setLimit("throttle-" + i, Limit.ofRate(50_000, 100));
      }
    }
    assertThat(ran).hasValue(TASKS);
  }
}
