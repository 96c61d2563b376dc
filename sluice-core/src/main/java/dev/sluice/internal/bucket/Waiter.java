package dev.sluice.internal.bucket;

import dev.sluice.AcquireRejectedException;
import dev.sluice.AcquireRejectedException.Reason;
import dev.sluice.internal.time.ClockTimer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A caller in the waiting list, and the future it holds: true if the tokens were taken, false if
 * the maximum wait was too short; null for a grant without a maximum wait.
 */
final class Waiter extends CompletableFuture<Boolean> {
  /*
   * Each way to complete a waiter from outside first takes it out of the list, which fails once it
   * is granted; a grant has removed it from the list. So exactly one of them completes it. It is
   * complete before callbacks of those run that are served because it left: they may wait for it.
   */
  final long tokens;

  /** The clock's reading when the caller came. */
  final long nowNanos;

  /** The longest wait, or {@link WaitingListMonitor#FOR_EVER}. */
  final long maxWaitNanos;

  private final WaitingListMonitor waitingList;

  /** True if a thread blocks on it and no other code has its future: it has no callbacks. */
  final boolean isBlocking;

  /** Written under the list's lock before it is completed: why it is refused, null if granted. */
  private @Nullable AcquireRejectedException refusal;

  /** True if the maximum wait was too short. Written under the list's lock before completion. */
  private boolean late;

  /** The value of a grant. */
  private final @Nullable Boolean granted;

  /** Guarded by the list's lock: goes off at the deadline, if there is one. */
  ClockTimer.@Nullable Timeout deadline;

  Waiter(
      WaitingListMonitor waitingList,
      long tokens,
      long nowNanos,
      long maxWaitNanos,
      boolean isBlocking,
      @Nullable Boolean granted) {
    this.waitingList = waitingList;
    this.tokens = tokens;
    this.nowNanos = nowNanos;
    this.maxWaitNanos = maxWaitNanos;
    this.isBlocking = isBlocking;
    this.granted = granted;
  }

  /** Says why it is refused, before {@link #finish}; always false. */
  boolean refuse(Reason reason, String message) {
    refusal = new AcquireRejectedException(reason, message);
    return false;
  }

  /** Records, before {@link #finish}, that the maximum wait was too short; always false. */
  boolean refuseLate() {
    late = true;
    return false;
  }

  void cancelDeadline() {
    if (deadline != null) {
      deadline.cancel();
      deadline = null;
    }
  }

  /** Completes it, granted or refused; called once it is out of the list. */
  void finish() {
    if (late) {
      super.complete(false);
    } else if (refusal == null) {
      super.complete(granted);
    } else {
      super.completeExceptionally(refusal);
    }
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    return waitingList.leave(this, () -> super.cancel(mayInterruptIfRunning)) || isCancelled();
  }

  @Override
  public boolean complete(@Nullable Boolean value) {
    return waitingList.leave(this, () -> super.complete(value));
  }

  @Override
  public boolean completeExceptionally(Throwable failure) {
    return waitingList.leave(this, () -> super.completeExceptionally(failure));
  }

  @Override
  public CompletableFuture<Boolean> completeAsync(
      Supplier<? extends @Nullable Boolean> supplier, Executor executor) {
    executor.execute(
        () -> {
          try {
            complete(supplier.get());
          } catch (Throwable failure) {
            completeExceptionally(failure);
          }
        });
    return this;
  }

  @Override
  public void obtrudeValue(@Nullable Boolean value) {
    complete(value);
    super.obtrudeValue(value);
  }

  @Override
  public void obtrudeException(Throwable failure) {
    completeExceptionally(failure);
    super.obtrudeException(failure);
  }

  @Override
  public <U> CompletableFuture<U> newIncompleteFuture() {
    return new CompletableFuture<>();
  }

  /** Returns this future of a grant without a maximum wait: its value is null. */
  @SuppressWarnings("unchecked")
  CompletableFuture<Void> withoutValue() {
    return (CompletableFuture<Void>) (CompletableFuture<?>) this;
  }

  /** Waits for the grant; on interrupt leaves the list, unless the tokens are there. */
  void await() throws InterruptedException {
    try {
      try {
        get();
      } catch (InterruptedException e) {
        if (cancel(true)) {
          throw e;
        }
        Thread.currentThread().interrupt();
        join();
      }
    } catch (ExecutionException | CompletionException e) {
      throw refusal(e);
    }
  }

  /** Waits for the grant or the deadline; returns whether the tokens were granted. */
  boolean awaitBeforeDeadline() throws InterruptedException {
    await();
    return !late;
  }

  private static AcquireRejectedException refusal(Exception e) {
    if (e.getCause() instanceof AcquireRejectedException refused) {
      return refused;
    }
    throw new IllegalStateException("a waiter fails only by refusal", e.getCause());
  }
}
