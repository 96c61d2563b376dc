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

/** A caller in line, and the future it holds. */
final class Waiter extends CompletableFuture<Void> {
  /*
   * Each way to complete a waiter from outside first takes it out of the line, which fails once it
   * is granted; a grant has removed it from the line. So exactly one of them completes it. It is
   * complete before callbacks of those run that are served because it left: they may wait for it.
   */
  final long tokens;

  /** The clock's reading when the caller came. */
  final long nowNanos;

  /** How long it may wait, or {@link WaitingListMonitor#FOR_EVER}. */
  final long maxWaitNanos;

  private final WaitingListMonitor line;

  /** Whether a thread waits for it, and nobody else has seen it: it has no callbacks. */
  final boolean isBlocking;

  /** Written under the line's lock before it is completed: why it is refused, null if granted. */
  private @Nullable AcquireRejectedException refusal;

  /** Guarded by the line's lock: goes off at the deadline, if there is one. */
  ClockTimer.@Nullable Timeout deadline;

  Waiter(
      WaitingListMonitor line, long tokens, long nowNanos, long maxWaitNanos, boolean isBlocking) {
    this.line = line;
    this.tokens = tokens;
    this.nowNanos = nowNanos;
    this.maxWaitNanos = maxWaitNanos;
    this.isBlocking = isBlocking;
  }

  /** Says why it is refused, before {@link #finish}; always false. */
  boolean refuse(Reason reason, String message) {
    refusal = new AcquireRejectedException(reason, message);
    return false;
  }

  /** {@link #refuse} because of its deadline. */
  boolean refuseLate() {
    return refuse(Reason.DEADLINE, "no tokens before the deadline: maxWaitNanos=" + maxWaitNanos);
  }

  void cancelDeadline() {
    if (deadline != null) {
      deadline.cancel();
      deadline = null;
    }
  }

  /** Completes it, granted or refused; called once it is out of the line. */
  void finish() {
    if (refusal == null) {
      super.complete(null);
    } else {
      super.completeExceptionally(refusal);
    }
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    return line.leave(this, () -> super.cancel(mayInterruptIfRunning)) || isCancelled();
  }

  @Override
  public boolean complete(@Nullable Void ignored) {
    return line.leave(this, () -> super.complete(null));
  }

  @Override
  public boolean completeExceptionally(Throwable failure) {
    return line.leave(this, () -> super.completeExceptionally(failure));
  }

  @Override
  public CompletableFuture<Void> completeAsync(
      Supplier<? extends @Nullable Void> supplier, Executor executor) {
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
  public void obtrudeValue(@Nullable Void ignored) {
    complete(null);
    super.obtrudeValue(null);
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

  /** Waits for the grant; on interrupt leaves the line, unless the tokens are there. */
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

  /** Waits for the grant or the deadline. */
  boolean awaitBeforeDeadline() throws InterruptedException {
    try {
      await();
      return true;
    } catch (AcquireRejectedException e) {
      if (e.reason() == Reason.DEADLINE) {
        return false;
      }
      throw e;
    }
  }

  private static AcquireRejectedException refusal(Exception e) {
    if (e.getCause() instanceof AcquireRejectedException refused) {
      return refused;
    }
    throw new IllegalStateException("a waiter fails only by refusal", e.getCause());
  }
}
