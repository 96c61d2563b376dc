package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Calls that are not answered yet. Each of them completes, even if the broker fails. */
public final class PendingCalls {
  @SuppressWarnings("CollectionUndefinedEquality") // each is itself
  private final Set<Call<?>> open = ConcurrentHashMap.newKeySet();

  private volatile @Nullable BrokerException end;

  /** A call, which is open until it is answered. */
  private final class Call<T> extends CompletableFuture<T> {
    @Override
    public boolean complete(T value) {
      open.remove(this);
      return super.complete(value);
    }

    @Override
    public boolean completeExceptionally(Throwable reason) {
      open.remove(this);
      return super.completeExceptionally(reason);
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      open.remove(this);
      return super.cancel(mayInterruptIfRunning);
    }
  }

  <T> CompletableFuture<T> begin() {
    Call<T> call = new Call<>();
    open.add(call);
    BrokerException over = end;
    if (over != null) {
      call.completeExceptionally(over);
    }
    return call;
  }

  /**
   * Fails every call from now on. The first reason stays, but a later one ends a wait for space.
   */
  synchronized void refuseNew(BrokerException reason) {
    BrokerException before = end;
    if (before == null || before.code() == BrokerException.Code.WAITING_FOR_SPACE) {
      end = reason;
    }
  }

  /** Every call that is open fails. */
  void failOpen() {
    BrokerException reason = end;
    if (reason != null) {
      open.forEach(call -> call.completeExceptionally(reason));
    }
  }

  /** Returns why calls fail; {@code otherwise} if they do not. */
  Throwable reasonOr(Throwable otherwise) {
    BrokerException reason = end;
    return reason == null ? otherwise : reason;
  }

  /** Throws if calls fail. */
  public void requireOpen() {
    BrokerException reason = end;
    if (reason != null) {
      throw new BrokerException(reason.code(), reason.getMessage(), reason.getCause());
    }
  }

  /** The thread that gives answers, and so must not wait for one. */
  public static final class CallbackThread extends Thread {
    CallbackThread(Runnable task) {
      super(task, "sluice-answers");
      setDaemon(true);
    }
  }

  public static void requireMayWait() {
    if (Thread.currentThread() instanceof PendingCalls.CallbackThread) {
      throw new IllegalStateException("a callback of a broker future must not block on the broker");
    }
  }

  /** Waits for an answer. */
  public static <T> T await(CompletableFuture<T> call) {
    if (!call.isDone()) {
      requireMayWait();
    }
    boolean interrupted = false;
    try {
      for (; ; ) {
        try {
          return call.get();
        } catch (InterruptedException goOn) {
          // The operation is under way, so its caller must get its result.
          interrupted = true;
        }
      }
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof BrokerException rejection) {
        throw new BrokerException(rejection.code(), rejection.getMessage(), rejection);
      }
      throw new CompletionException(failed.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
