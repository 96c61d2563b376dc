package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.Thread.UncaughtExceptionHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tasks that fail, delegates that refuse, and user code that comes back to the executor. */
@Timeout(60)
final class FairExecutorReentrancyTest {
  private static final int MANY = 100_000;
  private static final Placement CALL = Placement.of("tenant").withThrottleKeys("provider");

  private final AtomicInteger ran = new AtomicInteger();

  private static FairExecutor inline(int parallelism) {
    return FairExecutor.builder().executor(Runnable::run, parallelism).maxQueued(MANY).build();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void execute_eachTaskSubmittingTheNext_doesNotGrowTheStack(int parallelism) {
    FairExecutor executor = inline(parallelism);
    Runnable next =
        new Runnable() {
          @Override
          public void run() {
            if (ran.incrementAndGet() < MANY) {
              executor.execute(this);
            }
          }
        };
    executor.execute(next);
    assertThat(ran).hasValue(MANY);
    assertThat(executor.running()).isZero();
  }

  @Test
  void submit_eachCallbackSubmittingTheNext_doesNotGrowTheStack() {
    FairExecutor executor = inline(2);
    List<CompletableFuture<Void>> callbacks = new ArrayList<>();
    Runnable next =
        new Runnable() {
          @Override
          public void run() {
            if (ran.getAndIncrement() < MANY) {
              callbacks.add(executor.submit("tenant", () -> {}).thenRun(this));
            }
          }
        };
    executor.execute(next);
    assertThat(ran).hasValue(MANY + 1);
    assertThat(callbacks).allMatch(callback -> callback.isDone());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void removeLimit_manyQueued_doesNotGrowTheStack(int parallelism) {
    FairExecutor executor = inline(parallelism);
    executor.setLimit("provider", Limit.ofRate(0, 0));
    for (int i = 0; i < MANY; i++) {
      executor.execute(CALL, ran::incrementAndGet);
    }
    assertThat(ran).hasValue(0);
    executor.removeLimit("provider");
    assertThat(ran).hasValue(MANY);
  }

  @Test
  void submit_delegateRefusesAll_failsManyWithoutGrowingTheStack() {
    Executor refusing =
        task -> {
          throw new RejectedExecutionException("full");
        };
    FairExecutor executor = FairExecutor.builder().executor(refusing, 2).maxQueued(10_000).build();
    executor.setLimit("provider", Limit.ofRate(0, 0));
    List<CompletableFuture<Integer>> futures = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      futures.add(executor.submit(CALL, ran::incrementAndGet));
    }
    executor.removeLimit("provider");
    assertThat(futures).allMatch(CompletableFuture::isCompletedExceptionally);
    assertThat(futures.get(0))
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOf(RejectedExecutionException.class)
        .withMessage("the delegate refused a task after it took its tokens: tenant=tenant")
        .havingCause()
        .withMessage("full");
    assertThat(ran).hasValue(0);
    assertThat(executor.running()).isZero();
    assertThat(executor.queued()).isZero();
  }

  @Test
  void execute_delegateRefuses_isReportedAndTheNextGoes() {
    AtomicInteger refusals = new AtomicInteger(1);
    Executor once =
        task -> {
          if (refusals.getAndDecrement() > 0) {
            throw new RejectedExecutionException("once");
          }
          task.run();
        };
    FairExecutor executor = FairExecutor.builder().executor(once, 1).build();
    Throwable reported = reportedWhile(() -> executor.execute(ran::incrementAndGet));
    assertThat(reported).isInstanceOf(RejectedExecutionException.class);
    executor.execute(ran::incrementAndGet);
    assertThat(ran).hasValue(1);
  }

  @Test
  void execute_delegateRunsTwiceAndThrows_runsOnce() {
    Executor odd =
        task -> {
          task.run();
          task.run();
          throw new RejectedExecutionException("after all");
        };
    FairExecutor executor = FairExecutor.builder().executor(odd, 1).build();
    CompletableFuture<Integer> first = executor.submit("tenant", ran::incrementAndGet);
    CompletableFuture<Integer> second = executor.submit("tenant", ran::incrementAndGet);
    assertThat(first).isCompletedWithValue(1);
    assertThat(second).isCompletedWithValue(2);
    assertThat(executor.running()).isZero();
  }

  @Test
  void submit_taskThrowsAnError_completesExceptionally() {
    FairExecutor executor = inline(1);
    Error error = new AssertionError("on purpose");
    CompletableFuture<Void> failed =
        executor.submit(
            "tenant",
            (Runnable)
                () -> {
                  throw error;
                });
    assertThat(failed.handle((ignored, failure) -> failure)).isCompletedWithValue(error);
    assertThat(executor.submit("tenant", ran::incrementAndGet)).isCompletedWithValue(1);
    assertThat(executor.running()).isZero();
  }

  @Test
  void execute_taskThrows_goesToTheUncaughtHandler() {
    FairExecutor executor = inline(1);
    Error error = new AssertionError("on purpose");
    Runnable failing =
        () -> {
          throw error;
        };
    assertThat(reportedWhile(() -> executor.execute(failing))).isSameAs(error);
    executor.execute(ran::incrementAndGet);
    assertThat(ran).hasValue(1);
  }

  @Test
  void execute_theHandlerThrowsToo_dispatchingContinues() {
    Thread thread = Thread.currentThread();
    UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
    FairExecutor executor = inline(1);
    thread.setUncaughtExceptionHandler(
        (where, failure) -> {
          throw new IllegalStateException("the handler, on purpose");
        });
    try {
      executor.execute(
          () -> {
            throw new IllegalStateException("the task, on purpose");
          });
    } finally {
      thread.setUncaughtExceptionHandler(before);
    }
    executor.execute(ran::incrementAndGet);
    assertThat(ran).hasValue(1);
  }

  @Test
  void execute_taskOnOwnThreadThrows_theThreadLivesOn() {
    AtomicReference<Throwable> reported = new AtomicReference<>();
    AtomicInteger threads = new AtomicInteger();
    FairExecutor executor =
        FairExecutor.builder()
            .threads(1)
            .threadFactory(
                task -> {
                  threads.incrementAndGet();
                  Thread thread = new Thread(task);
                  thread.setUncaughtExceptionHandler((where, failure) -> reported.set(failure));
                  return thread;
                })
            .build();
    try (executor) {
      executor.execute(
          () -> {
            throw new StackOverflowError("on purpose");
          });
      executor.submit("tenant", () -> {}).join();
    }
    assertThat(reported.get()).isInstanceOf(StackOverflowError.class);
    assertThat(threads).hasValue(1);
  }

  @Test
  void submit_threadFactoryFails_failsTheTask() {
    FairExecutor executor =
        FairExecutor.builder()
            .threads(1)
            .threadFactory(
                task -> {
                  throw new OutOfMemoryError("no thread, on purpose");
                })
            .build();
    try (executor) {
      assertThat(executor.submit("tenant", ran::incrementAndGet))
          .isCompletedExceptionally()
          .isNotCancelled();
    }
    assertThat(ran).hasValue(0);
  }

  /** Another thread could not get in if the lock were held where user code runs. */
  @Test
  void userCode_neverRunsUnderTheLock() {
    HeldTasks held = new HeldTasks();
    AtomicReference<FairExecutor> known = new AtomicReference<>();
    Runnable probe =
        () -> {
          CompletableFuture<Void> other = Threads.beside(() -> known.get().queued());
          other.orTimeout(20, TimeUnit.SECONDS).join();
          ran.incrementAndGet();
        };
    Executor delegate =
        task -> {
          probe.run();
          held.execute(task);
        };
    FairExecutor executor = FairExecutor.builder().executor(delegate, 1).build();
    known.set(executor);
    List<CompletableFuture<Void>> callbacks = new ArrayList<>();
    callbacks.add(executor.submit("tenant", probe).thenRun(probe));
    CompletableFuture<Void> canceled = executor.submit("tenant", probe);
    callbacks.add(canceled.whenComplete((ignored, failure) -> probe.run()));
    callbacks.add(executor.submit("tenant", probe).whenComplete((done, failure) -> probe.run()));
    canceled.cancel(false);
    assertThat(ran).as("the delegate, a callback of a cancel").hasValue(2);
    executor.shutdownNow();
    assertThat(ran).as("a callback of a shutdown").hasValue(3);
    held.runAll();
    assertThat(ran).as("a task and its callback").hasValue(5);
    assertThat(callbacks).allMatch(CompletableFuture::isDone);
  }

  @Test
  void cancel_fromACallback_works() {
    HeldTasks held = new HeldTasks();
    FairExecutor executor = FairExecutor.builder().executor(held, 1).build();
    CompletableFuture<Integer> first = executor.submit("tenant", ran::incrementAndGet);
    CompletableFuture<Integer> second = executor.submit("tenant", ran::incrementAndGet);
    CompletableFuture<Boolean> callback = first.thenApply(ignored -> second.cancel(false));
    held.runAll();
    assertThat(callback).isCompletedWithValue(true);
    assertThat(ran).hasValue(1);
  }

  @Test
  void submit_fromTasksOnOwnThreads_works() {
    try (FairExecutor executor = FairExecutor.builder().threads(2).maxQueued(MANY).build()) {
      CompletableFuture<Void> done = new CompletableFuture<>();
      Runnable next =
          new Runnable() {
            @Override
            public void run() {
              if (ran.incrementAndGet() < MANY) {
                executor.execute(this);
              } else {
                done.complete(null);
              }
            }
          };
      executor.execute(next);
      done.join();
    }
    assertThat(ran).hasValue(MANY);
  }

  private static Throwable reportedWhile(Runnable action) {
    AtomicReference<Throwable> reported = new AtomicReference<>();
    Thread thread = Thread.currentThread();
    UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
    thread.setUncaughtExceptionHandler((where, failure) -> reported.set(failure));
    try {
      action.run();
    } finally {
      thread.setUncaughtExceptionHandler(before);
    }
    return reported.get();
  }
}
