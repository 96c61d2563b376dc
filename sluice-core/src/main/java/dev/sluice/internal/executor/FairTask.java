package dev.sluice.internal.executor;

import dev.sluice.FairExecutor;
import dev.sluice.Placement;
import dev.sluice.ScheduledItem;
import dev.sluice.internal.util.IntrusiveList;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A task of a {@link FairExecutor} from its submission to its end, and the future of its result.
 */
final class FairTask<T> extends IntrusiveList.Link<FairTask<?>> {
  private static final Logger LOGGER = System.getLogger(FairExecutor.class.getName());

  private final DispatchingExecutor executor;
  final Placement placement;
  final Outcome outcome = new Outcome();

  /** The command given to {@code execute}; null if the caller of {@code submit} has a future. */
  final @Nullable Runnable command;

  /** Set to null when the task ends, since the caller may keep the future for long. */
  private @Nullable Callable<T> work;

  /** Guarded by the executor's lock; set once it is queued. */
  private @Nullable ScheduledItem<FairTask<?>> item;

  FairTask(
      DispatchingExecutor executor,
      Placement placement,
      @Nullable Callable<T> work,
      @Nullable Runnable command) {
    this.executor = executor;
    this.placement = placement;
    this.work = work;
    this.command = command;
  }

  String tenant() {
    return placement.fairnessKey();
  }

  void enqueued(ScheduledItem<FairTask<?>> scheduled) {
    this.item = scheduled;
  }

  /** Removes the task from its queue; false if it is not in it. Under the executor's lock. */
  boolean removeFromQueue() {
    boolean left = item != null && item.remove();
    if (left) {
      work = null;
    }
    return left;
  }

  /** Releases the slot of its fairness key. Under the executor's lock. */
  void releaseSlot() {
    if (item != null) {
      item.complete();
    }
  }

  /** Runs the task on this thread; throws nothing. */
  void run() {
    Callable<T> callable = work;
    Runnable runnable = command;
    T result = null;
    try {
      if (callable != null) {
        result = callable.call();
      } else if (runnable != null) {
        runnable.run();
      }
    } catch (Throwable failure) {
      fail(failure);
      return;
    }
    work = null;
    outcome.succeed(result);
  }

  /** Ends the task with a failure: by its future or, without one, as an uncaught exception. */
  void fail(Throwable failure) {
    work = null;
    outcome.fail(failure);
    if (command != null) {
      report(failure);
    }
  }

  /** Cancels the task after it has left the queue. */
  void drop() {
    outcome.drop();
  }

  private void report(Throwable failure) {
    Thread thread = Thread.currentThread();
    try {
      thread.getUncaughtExceptionHandler().uncaughtException(thread, failure);
    } catch (Throwable broken) {
      log("the handler of uncaught exceptions failed", broken);
      log("a task of tenant " + tenant() + " failed", failure);
    }
  }

  static void log(String message, Throwable failure) {
    LOGGER.log(Level.ERROR, message, failure);
  }

  @Override
  public String toString() {
    return "FairTask[tenant=" + tenant() + "]";
  }

  /** The future that the caller of {@code submit} gets. */
  final class Outcome extends CompletableFuture<T> {
    /*
     * Cancellation and completion by the caller first remove the task from the queue, under the lock.
     * A cancel of a task that has left the queue does nothing, so that "canceled" means "did not
     * run". Completion by the caller, as by orTimeout, ends the wait for a running task, not the task.
     */

    void succeed(@Nullable T result) {
      super.complete(result);
    }

    void fail(Throwable failure) {
      super.completeExceptionally(failure);
    }

    void drop() {
      super.cancel(false);
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      if (executor.withdraw(FairTask.this)) {
        FairTask.this.drop();
      }
      return isCancelled();
    }

    @Override
    public boolean complete(@Nullable T result) {
      executor.withdraw(FairTask.this);
      return super.complete(result);
    }

    @Override
    public boolean completeExceptionally(Throwable failure) {
      executor.withdraw(FairTask.this);
      return super.completeExceptionally(failure);
    }

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
      return new CompletableFuture<>();
    }
  }
}
