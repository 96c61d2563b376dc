package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.internal.util.DaemonThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The end of an executor, in every order and under load. */
@Timeout(60)
final class FairExecutorShutdownTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Placement CALL = Placement.of("tenant").withThrottleKeys("provider");

  private final ManualClock clock = ManualClock.create();
  private final AtomicInteger ran = new AtomicInteger();

  private static void assertRefuses(FairExecutor executor) {
    assertThatThrownBy(() -> executor.submit("late", () -> {}))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessage("executor is shut down: tenant=late");
  }

  @Test
  void shutdown_throttledTasks_waitForTheirTokens() throws InterruptedException {
    FairExecutor executor =
        FairExecutor.builder()
            .threads(2)
            .clock(clock)
            .limit("provider", Limit.ofRate(1, 1))
            .build();
    List<CompletableFuture<Integer>> futures = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      futures.add(executor.submit(CALL, ran::incrementAndGet));
    }
    futures.get(0).join();
    executor.shutdown();
    assertRefuses(executor);
    assertThat(executor.isShutdown()).isTrue();
    assertThat(executor.awaitTermination(Duration.ZERO)).isFalse();
    assertThat(executor.queued()).isEqualTo(2);
    clock.advance(Duration.ofSeconds(1));
    futures.get(1).join();
    assertThat(executor.isTerminated()).isFalse();
    clock.advance(Duration.ofSeconds(1));
    assertThat(executor.awaitTermination(LONG)).isTrue();
    assertThat(executor.isTerminated()).isTrue();
    assertThat(futures.get(2)).isCompletedWithValue(3);
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void shutdown_lastQueuedTaskCancelled_ends() throws InterruptedException {
    FairExecutor executor =
        FairExecutor.builder()
            .threads(1)
            .clock(clock)
            .limit("provider", Limit.ofRate(0, 0))
            .build();
    CompletableFuture<Integer> never = executor.submit(CALL, ran::incrementAndGet);
    executor.shutdown();
    assertThat(executor.isTerminated()).isFalse();
    never.cancel(false);
    assertThat(executor.isTerminated()).isTrue();
    assertThat(executor.awaitTermination(LONG)).isTrue();
  }

  @Test
  void shutdownNow_dropsWaitingTasks() throws InterruptedException {
    HeldTasks held = new HeldTasks();
    FairExecutor executor =
        FairExecutor.builder()
            .executor(held, 1)
            .clock(clock)
            .limit("provider", Limit.ofRate(1, 1))
            .build();
    CompletableFuture<Integer> running = executor.submit(CALL, ran::incrementAndGet);
    CompletableFuture<Integer> queued = executor.submit(CALL, ran::incrementAndGet);
    Runnable plain = ran::incrementAndGet;
    executor.execute(plain);
    assertThat(executor.shutdownNow()).containsExactly(plain);
    assertThat(queued).isCancelled();
    assertThat(executor.queued()).isZero();
    assertThat(executor.isTerminated()).as("one still runs").isFalse();
    assertThat(executor.shutdownNow()).isEmpty();
    assertRefuses(executor);
    held.runAll();
    assertThat(running).isCompletedWithValue(1);
    assertThat(executor.awaitTermination(Duration.ZERO)).isTrue();
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void shutdownNow_ownThreads_interruptsRunningTasks() throws InterruptedException {
    FairExecutor executor = FairExecutor.ofThreads(1);
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Void> running =
        executor.submit(
            "tenant",
            () -> {
              begun.countDown();
              new CountDownLatch(1).await();
              return null;
            });
    begun.await();
    assertThat(executor.shutdownNow()).isEmpty();
    assertThat(executor.awaitTermination(LONG)).isTrue();
    assertThat(running.handle((ignored, failure) -> failure).join())
        .isInstanceOf(InterruptedException.class);
  }

  @Test
  void shutdownNow_taskOnItsWayToAnOwnThread_findsItselfInterrupted() {
    CountDownLatch release = new CountDownLatch(1);
    FairExecutor executor =
        FairExecutor.builder()
            .threads(1)
            .threadFactory(
                task ->
                    new Thread(
                        () -> {
                          awaitQuietly(release);
                          task.run();
                        }))
            .build();
    CompletableFuture<Boolean> onItsWay =
        executor.submit("tenant", () -> Thread.currentThread().isInterrupted());
    assertThat(executor.shutdownNow()).isEmpty();
    assertThat(onItsWay.isCancelled()).isFalse();
    release.countDown();
    assertThat(onItsWay.join()).isTrue();
    executor.close();
  }

  @Test
  void lifecycle_anyOrderAndTwice_isIdempotent() throws InterruptedException {
    FairExecutor executor = FairExecutor.ofThreads(1);
    assertThat(executor.awaitTermination(Duration.ofNanos(-1))).isFalse();
    executor.submit("tenant", ran::incrementAndGet).join();
    executor.close();
    executor.close();
    assertThat(executor.shutdownNow()).isEmpty();
    executor.shutdown();
    executor.shutdown();
    assertThat(executor.shutdownNow()).isEmpty();
    executor.close();
    assertThat(executor.awaitTermination(Duration.ZERO)).isTrue();
    assertRefuses(executor);
    executor.setLimit("provider", Limit.ofRate(1, 1));
    assertThat(executor.limitStats()).hasSize(1);
  }

  @Test
  void close_ownThreads_end() throws InterruptedException {
    Queue<Thread> threads = new ConcurrentLinkedQueue<>();
    FairExecutor executor =
        FairExecutor.builder()
            .threads(3)
            .threadFactory(
                task -> {
                  Thread thread = new Thread(task);
                  threads.add(thread);
                  return thread;
                })
            .build();
    try (executor) {
      for (int i = 0; i < 1_000; i++) {
        executor.execute(ran::incrementAndGet);
      }
    }
    assertThat(ran).hasValue(1_000);
    assertThat(threads).hasSizeBetween(1, 3);
    for (Thread thread : threads) {
      thread.join(); // the pool counts a thread as ended a moment before it is
    }
    assertThat(executor.isTerminated()).isTrue();
  }

  @Test
  void ownThreads_areNamedNoDaemonsAndHaveAClassLoader_onAnyCallingThread() {
    try (FairExecutor executor =
        FairExecutor.builder().threads(1).limit("provider", Limit.ofRate(100, 1)).build()) {
      executor.setLimit("provider", Limit.ofRate(0, 0));
      CompletableFuture<Thread> future = executor.submit(CALL, Thread::currentThread);
      Thread starter = DaemonThreads.of(() -> executor.removeLimit("provider"), "starter");
      starter.start();
      Thread thread = future.join();
      assertThat(thread.getName()).isEqualTo("sluice-executor-1");
      assertThat(thread.isDaemon()).isFalse();
      assertThat(thread.getContextClassLoader())
          .isSameAs(Thread.currentThread().getContextClassLoader());
    }
  }

  @Test
  void ownThreads_aTaskThatLeavesItsThreadInterrupted_doesNotDisturbTheNext() {
    try (FairExecutor executor = FairExecutor.ofThreads(1)) {
      CountDownLatch queued = new CountDownLatch(1);
      executor.execute(
          () -> {
            awaitQuietly(queued);
            Thread.currentThread().interrupt();
          });
      CompletableFuture<Boolean> next =
          executor.submit("tenant", () -> Thread.currentThread().isInterrupted());
      queued.countDown();
      assertThat(next.join()).isFalse();
    }
  }

  @Test
  void close_interrupted_dropsWaitingTasksAndStaysInterrupted() throws InterruptedException {
    FairExecutor executor =
        FairExecutor.builder()
            .threads(1)
            .clock(clock)
            .limit("provider", Limit.ofRate(0, 0))
            .build();
    CompletableFuture<Integer> never = executor.submit(CALL, ran::incrementAndGet);
    AtomicBoolean interruptedAfter = new AtomicBoolean();
    Thread closer =
        new Thread(
            () -> {
              executor.close();
              interruptedAfter.set(Thread.currentThread().isInterrupted());
            });
    closer.start();
    closer.interrupt();
    closer.join();
    assertThat(never).isCancelled();
    assertThat(interruptedAfter).isTrue();
    assertThat(executor.isTerminated()).isTrue();
  }

  @Test
  void close_interruptedWhileATaskRuns_waitsForIt() throws InterruptedException {
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(1);
    FairExecutor executor = FairExecutor.builder().executor(t -> new Thread(t).start(), 1).build();
    CompletableFuture<Void> running =
        executor.submit(
            "tenant",
            () -> {
              begun.countDown();
              awaitQuietly(release);
            });
    CompletableFuture<Integer> queued = executor.submit("tenant", ran::incrementAndGet);
    begun.await();
    Thread closer = new Thread(executor::close);
    closer.start();
    closer.interrupt();
    assertThatThrownBy(queued::join).isInstanceOf(CancellationException.class);
    assertThat(closer.isAlive()).isTrue();
    assertThat(running).isNotDone();
    release.countDown();
    closer.join();
    assertThat(running).isCompleted();
    assertThat(ran).hasValue(0);
  }

  @Test
  void awaitTermination_interrupted_throws() {
    FairExecutor executor = FairExecutor.ofThreads(1);
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> executor.awaitTermination(LONG))
        .isInstanceOf(InterruptedException.class);
    executor.close();
  }

  @Test
  void shutdownNow_underLoad_everyTaskRanOrWasDropped() throws InterruptedException {
    for (int round = 0; round < 50; round++) {
      FairExecutor executor = FairExecutor.builder().threads(3).build();
      AtomicInteger done = new AtomicInteger();
      AtomicInteger plain = new AtomicInteger();
      AtomicInteger accepted = new AtomicInteger();
      Queue<CompletableFuture<Integer>> futures = new ConcurrentLinkedQueue<>();
      CompletableFuture<Void> feeder =
          Threads.beside(
              () -> {
                try {
                  while (true) {
                    futures.add(executor.submit("a", done::incrementAndGet));
                    executor.execute(Placement.of("b"), plain::incrementAndGet);
                    accepted.incrementAndGet();
                    Thread.onSpinWait();
                  }
                } catch (RejectedExecutionException full) {
                  assertThat(full).hasMessageMatching("executor is shut down.*|tasks queued .*");
                }
              });
      while (done.get() < 10) {
        Thread.onSpinWait();
      }
      int dropped = executor.shutdownNow().size();
      assertThat(executor.awaitTermination(LONG)).isTrue();
      feeder.join();
      assertThat(futures).allMatch(CompletableFuture::isDone);
      long ended = futures.stream().filter(f -> !f.isCompletedExceptionally()).count();
      assertThat(ended).isEqualTo(done.get());
      assertThat(plain.get() + dropped).isEqualTo(accepted.get());
    }
  }

  static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
