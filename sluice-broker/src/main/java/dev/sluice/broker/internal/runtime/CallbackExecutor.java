package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.internal.engine.Completion;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Completes the futures of callers on one thread, in order, and so runs code that callers chained
 * to them.
 */
final class CallbackExecutor {
  private static final System.Logger LOG = System.getLogger(Broker.class.getName());

  /** How long closing waits for callbacks that are running. */
  private static final long CLOSE_SECONDS = 10;

  private final ExecutorService executor =
      Executors.newSingleThreadExecutor(PendingCalls.CallbackThread::new);

  /** Runs {@code task}; drops it once the broker has ended, for every call has failed by then. */
  void execute(Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException ended) {
      // No call is open any more.
    }
  }

  /** Runs {@code task}, on the calling thread once the broker has ended. */
  void executeAlways(Runnable task) {
    try {
      executor.execute(() -> guarded(task));
    } catch (RejectedExecutionException ended) {
      task.run();
    }
  }

  void complete(List<? extends Completion<?>> completions) {
    if (!completions.isEmpty()) {
      execute(() -> completions.forEach(each -> guarded(each::complete)));
    }
  }

  void fail(CompletableFuture<?> call, Throwable reason) {
    execute(() -> call.completeExceptionally(reason));
  }

  /** Runs code of a user and logs its exceptions. */
  static void guarded(Runnable userCode) {
    try {
      userCode.run();
    } catch (Throwable thrown) {
      LOG.log(System.Logger.Level.WARNING, "a callback threw an exception", thrown);
    }
  }

  /** Ends after the tasks so far, and waits for them unless called by one of them. */
  void close() {
    executor.shutdown();
    if (Thread.currentThread() instanceof PendingCalls.CallbackThread) {
      return;
    }
    try {
      if (!executor.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
        LOG.log(System.Logger.Level.WARNING, "a callback blocks the thread that completes futures");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
