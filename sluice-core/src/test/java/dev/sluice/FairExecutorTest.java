package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The order, time and limits of tasks; on one thread, so that every order is exact. */
@Timeout(60)
final class FairExecutorTest {
  private static final long MS = 1_000_000;
  private static final Placement CALL = Placement.of("tenant").withThrottleKeys("provider");

  private final ManualClock clock = ManualClock.create();
  private final HeldTasks held = new HeldTasks();
  private final List<String> order = new ArrayList<>();
  private final List<Long> instants = new ArrayList<>();

  private FairExecutor.Builder oneWorker() {
    return FairExecutor.builder().executor(held, 1).clock(clock);
  }

  /** Runs tasks at once, on the thread that brings them about. */
  private FairExecutor.Builder inline() {
    return FairExecutor.builder().executor(Runnable::run, 1).clock(clock);
  }

  private void submit(FairExecutor executor, String tenant, int tasks) {
    for (int i = 0; i < tasks; i++) {
      executor.execute(Placement.of(tenant), () -> order.add(tenant));
    }
  }

  private void recordInstant() {
    instants.add(clock.nanoTime());
  }

  private double level(FairExecutor executor) {
    return executor.limitStats().get(0).level();
  }

  @Test
  void execute_quietTenantAfterTenThousandOfANoisyOne_runsWithinTwoTasks() {
    FairExecutor executor = oneWorker().maxQueued(10_001).build();
    submit(executor, "noisy", 10_000);
    held.runOne();
    submit(executor, "quiet", 1);
    held.runAll();
    assertThat(order).hasSize(10_001);
    // The first ran and the second was at the worker before the quiet one came.
    assertThat(order.indexOf("quiet")).isBetween(2, 3);
  }

  @Test
  void setWeight_oneToThree_sharesOneToThree() {
    FairExecutor executor = oneWorker().build();
    executor.setWeight("heavy", 3);
    submit(executor, "light", 1_000);
    submit(executor, "heavy", 1_000);
    held.runAll();
    long heavy = order.subList(0, 800).stream().filter("heavy"::equals).count();
    assertThat(heavy).isBetween(597L, 603L);
  }

  @Test
  void execute_higherPriority_runsFirst() {
    FairExecutor executor = oneWorker().build();
    submit(executor, "first", 1);
    submit(executor, "plain", 3);
    executor.execute(Placement.of("urgent").withPriority(1), () -> order.add("urgent"));
    held.runAll();
    assertThat(order).containsExactly("first", "urgent", "plain", "plain", "plain");
  }

  @Test
  void execute_fiveCallsASecond_givesTheBurstThenOneEvery200Millis() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(5, 5)).build();
    for (int i = 0; i < 20; i++) {
      executor.execute(CALL, this::recordInstant);
    }
    assertThat(instants).containsExactly(0L, 0L, 0L, 0L, 0L);
    assertThat(Threads.pendingAlarms(clock)).isEqualTo(1);
    clock.advanceNanos(200 * MS - 1);
    assertThat(instants).hasSize(5);
    clock.advanceNanos(1);
    assertThat(instants).hasSize(6);
    clock.advance(Duration.ofSeconds(10));
    assertThat(instants.subList(5, 20))
        .isEqualTo(LongStream.rangeClosed(1, 15).mapToObj(i -> i * 200 * MS).toList());
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void execute_throttledHead_delaysNoOtherTask() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 1)).build();
    executor.execute(CALL, () -> order.add("call"));
    executor.execute(CALL, () -> order.add("call"));
    submit(executor, "tenant", 2);
    assertThat(order).containsExactly("call", "tenant", "tenant");
    assertThat(executor.stats("tenant").orElseThrow().pending()).isEqualTo(1);
    clock.advance(Duration.ofSeconds(1));
    assertThat(order).hasSize(4);
    assertThat(executor.stats("tenant")).isEmpty();
  }

  @Test
  void execute_manyThrottles_keepsOneAlarmAtTheFirstInstant() {
    FairExecutor executor = inline().build();
    for (int i = 1; i <= 10; i++) {
      Placement slow = Placement.of("tenant-" + i).withThrottleKeys("throttle-" + i);
      executor.setLimit("throttle-" + i, Limit.ofRate(1.0 / i, 1));
      executor.execute(slow, this::recordInstant);
      executor.execute(slow, this::recordInstant);
      assertThat(Threads.pendingAlarms(clock)).isEqualTo(1);
    }
    clock.advance(Duration.ofSeconds(10));
    assertThat(instants.subList(10, 20))
        .allSatisfy(nanos -> assertThat(nanos % 1_000_000_000).isLessThanOrEqualTo(10))
        .doesNotHaveDuplicates()
        .isSorted();
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void setLimit_raisedWhileATaskWaits_runsItAtOnceOrSooner() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(0, 1)).build();
    executor.execute(CALL, this::recordInstant);
    CompletableFuture<Void> waits = executor.submit(CALL, this::recordInstant);
    assertThat(Threads.pendingAlarms(clock)).isZero();
    executor.setLimit("provider", Limit.ofRate(1, 1));
    assertThat(Threads.pendingAlarms(clock)).isEqualTo(1);
    clock.advance(Duration.ofMillis(100));
    executor.setLimit("provider", Limit.ofRate(10, 1));
    assertThat(waits).isNotDone();
    clock.advance(Duration.ofMillis(90));
    assertThat(waits).isCompleted();
    assertThat(instants).containsExactly(0L, 190 * MS);
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void removeLimit_runsAllWaitingTasksAtOnce() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 1)).build();
    for (int i = 0; i < 5; i++) {
      executor.execute(CALL, this::recordInstant);
    }
    assertThat(instants).hasSize(1);
    assertThat(executor.removeLimit("provider")).isTrue();
    assertThat(executor.removeLimit("provider")).isFalse();
    assertThat(instants).hasSize(5);
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void setMaxInFlight_holdsBackOneTenantOnly() {
    FairExecutor executor = FairExecutor.builder().executor(held, 4).build();
    executor.setMaxInFlight("limited", 2);
    submit(executor, "limited", 4);
    assertThat(held.size()).isEqualTo(2);
    submit(executor, "free", 3);
    assertThat(held.size()).isEqualTo(4);
    assertThat(executor.running()).isEqualTo(4);
    executor.setMaxInFlight("limited", 3);
    held.runAll();
    assertThat(order).hasSize(7);
  }

  @Test
  void setMaxInFlight_raised_wakesAtOnce() {
    FairExecutor executor = FairExecutor.builder().executor(held, 4).build();
    executor.setMaxInFlightPerKey(1);
    submit(executor, "tenant", 4);
    assertThat(held.size()).isEqualTo(1);
    executor.setMaxInFlightPerKey(3);
    assertThat(held.size()).isEqualTo(3);
    executor.setMaxInFlight("tenant", Integer.MAX_VALUE);
    assertThat(held.size()).isEqualTo(4);
  }

  @Test
  void cancel_queuedTask_freesItsPlaceAndTakesNoToken() {
    FairExecutor executor = oneWorker().limit("provider", Limit.ofRate(1, 10)).maxQueued(2).build();
    submit(executor, "first", 1);
    CompletableFuture<Boolean> first = executor.submit(CALL, () -> order.add("canceled"));
    CompletableFuture<Boolean> second = executor.submit(CALL, () -> order.add("second"));
    assertThatThrownBy(() -> executor.execute(CALL, () -> {}))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage("tasks queued must be at most 2: queued=2, tenant=tenant");
    assertThat(first.cancel(true)).isTrue();
    assertThat(first).isCancelled();
    assertThat(executor.queued()).isEqualTo(1);
    submit(executor, "third", 1);
    held.runAll();
    assertThat(order).containsExactly("first", "second", "third");
    assertThat(second).isCompletedWithValue(true);
    assertThat(level(executor)).isEqualTo(9);
    assertThat(first.cancel(true)).as("again").isTrue();
  }

  @Test
  void cancel_taskHandedOut_returnsFalseAndDoesNothing() {
    FairExecutor executor = oneWorker().build();
    CompletableFuture<String> running = executor.submit("tenant", () -> "result");
    assertThat(running.cancel(true)).isFalse();
    assertThat(running).isNotDone();
    held.runAll();
    assertThat(running).isCompletedWithValue("result");
    assertThat(running.cancel(true)).isFalse();
  }

  @Test
  void cancel_throttledTask_silencesTheAlarm() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 1)).build();
    executor.execute(CALL, this::recordInstant);
    CompletableFuture<Void> waits = executor.submit(CALL, this::recordInstant);
    assertThat(Threads.pendingAlarms(clock)).isEqualTo(1);
    waits.cancel(false);
    assertThat(Threads.pendingAlarms(clock)).isZero();
    assertThat(executor.stats("tenant")).isEmpty();
  }

  @Test
  void cancel_firstWaiter_runsASmallerTask() {
    FairExecutor executor = inline().limit("provider", Limit.ofRate(1, 10)).build();
    executor.execute(Placement.of("tenant").withThrottleKey("provider", 9), this::recordInstant);
    CompletableFuture<Void> large =
        executor.submit(Placement.of("tenant").withThrottleKey("provider", 5), this::recordInstant);
    CompletableFuture<Void> small = executor.submit(CALL, this::recordInstant);
    assertThat(small).isNotDone();
    large.cancel(false);
    assertThat(small).isCompleted();
  }

  /** The way of orTimeout. */
  @Test
  void completeExceptionally_queuedTask_takesItOutOfTheQueue() {
    FairExecutor executor = oneWorker().build();
    CompletableFuture<Boolean> running = executor.submit("tenant", () -> order.add("running"));
    CompletableFuture<Boolean> queued = executor.submit("tenant", () -> order.add("queued"));
    assertThat(queued.completeExceptionally(new TimeoutException())).isTrue();
    assertThat(running.completeExceptionally(new TimeoutException())).isTrue();
    assertThat(executor.queued()).isZero();
    held.runAll();
    assertThat(order).containsExactly("running");
    assertThat(running).isCompletedExceptionally();
    assertThat(executor.running()).isZero();
  }

  @Test
  void complete_queuedTask_takesItOutOfTheQueue() {
    FairExecutor executor = oneWorker().build();
    CompletableFuture<String> running = executor.submit("tenant", () -> "late");
    CompletableFuture<String> queued = executor.submit("tenant", () -> "late");
    assertThat(queued.complete("early")).isTrue();
    assertThat(running.complete("early")).isTrue();
    assertThat(executor.queued()).isZero();
    held.runAll();
    assertThat(queued).isCompletedWithValue("early");
    assertThat(running).isCompletedWithValue("early");
    assertThat(executor.running()).isZero();
  }

  @Test
  void completeAsync_queuedTask_isSkippedWithoutTakingTokens() {
    FairExecutor executor = oneWorker().limit("provider", Limit.ofRate(1, 5)).build();
    submit(executor, "first", 1);
    CompletableFuture<String> queued =
        executor.submit(
            CALL,
            () -> {
              order.add("ran");
              return "late";
            });
    queued.completeAsync(() -> "early", Runnable::run).join();
    held.runAll();
    assertThat(order).containsExactly("first");
    assertThat(executor.queued()).isZero();
    assertThat(level(executor)).isEqualTo(5);
  }

  @Test
  void cancel_derivedFuture_leavesTheTaskAlone() {
    FairExecutor executor = oneWorker().build();
    submit(executor, "first", 1);
    CompletableFuture<Boolean> task = executor.submit("tenant", () -> order.add("ran"));
    CompletableFuture<Boolean> derived = task.thenApply(added -> added);
    assertThat(derived.cancel(true)).isTrue();
    held.runAll();
    assertThat(order).containsExactly("first", "ran");
  }

  @Test
  void execute_boundOfOneTenant_refusesThatTenantOnly() {
    FairExecutor executor = oneWorker().maxQueuedPerKey(2).build();
    submit(executor, "noisy", 3);
    assertThatThrownBy(() -> submit(executor, "noisy", 1))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage("tasks queued of one tenant must be at most 2: queued=2, tenant=noisy");
    submit(executor, "quiet", 2);
    held.runOne();
    held.runOne();
    submit(executor, "noisy", 1);
    held.runAll();
    assertThat(Collections.frequency(order, "noisy")).isEqualTo(4);
  }

  @Test
  void execute_plain_belongsToTheDefaultTenant() {
    FairExecutor executor = oneWorker().build();
    executor.execute(() -> order.add("first"));
    executor.execute(() -> order.add("second"));
    executor.executorFor(Placement.of("other")).execute(() -> order.add("other"));
    assertThat(executor.stats(FairExecutor.DEFAULT_FAIRNESS_KEY).orElseThrow().pending())
        .isEqualTo(1);
    assertThat(executor.stats("other").orElseThrow().pending()).isEqualTo(1);
    assertThat(executor.queued()).isEqualTo(2);
    assertThat(executor.running()).isEqualTo(1);
    assertThat(executor).hasToString("FairExecutor[queued=2, running=1, parallelism=1]");
    held.runAll();
    assertThat(order).containsExactlyInAnyOrder("first", "second", "other");
  }

  @Test
  void maxCost_boundsACost() {
    FairExecutor executor = oneWorker().maxCost(10).build();
    executor.execute(Placement.of("tenant").withCost(10), () -> order.add("ran"));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> executor.execute(Placement.of("tenant").withCost(11), () -> {}))
        .withMessage("cost must be at most 10, but was 11");
    assertThat(executor.queued()).isZero();
    held.runAll();
    assertThat(order).hasSize(1);
  }

  @Test
  void builder_rejectsInvalidSettings() {
    FairExecutor.Builder builder = FairExecutor.builder();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.threads(0))
        .withMessage("threads must be positive, but was 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.executor(held, 0))
        .withMessage("parallelism must be positive, but was 0");
    assertThatIllegalArgumentException().isThrownBy(() -> builder.maxQueued(0));
    assertThatIllegalArgumentException().isThrownBy(() -> builder.maxQueuedPerKey(0));
    assertThatIllegalArgumentException().isThrownBy(() -> builder.maxCost(0));
    assertThatIllegalArgumentException().isThrownBy(() -> builder.limit("", Limit.ofRate(1, 1)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.limit("key", Limit.ofRate(-1, 1)));
  }
}
