package dev.sluice.redis.internal.limits;

import dev.sluice.AcquireRejectedException;
import dev.sluice.Decision;
import dev.sluice.redis.RedisUnavailableException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The waiting list of one bucket on this node.
 *
 * <p>Only the first waiter calls Redis, when its retry-after is over or tokens may have been added:
 * no waiter is overtaken on this node, and many waiters cost no more calls than one.
 */
public final class BucketWaiters {
  /*
   * State. With nobody in line nothing goes on. Otherwise either somebody is being asked for, from
   * the call until its answer has been dealt with (`asking`), or the room sleeps until the alarm.
   * That waiter may leave meanwhile; its tokens are returned if they are granted then.
   *
   * Steps. Every answer is dealt with in a task of its own, so those who are answered at once do not
   * pile up on the stack, however many they are.
   *
   * Concurrency. The lock of this guards the state. Redis is asked and futures complete outside it.
   */

  /** The same bound as for a bucket in memory. */
  private static final int MAX_WAITING = 10_000;

  /** Another node may replenish, which this node is not told. */
  private static final long LONGEST_SLEEP_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long IDLE_SECONDS = 10;

  private static final ScheduledThreadPoolExecutor WORKERS = workers();

  private final LongFunction<CompletableFuture<Decision>> bucket;
  private final LongConsumer refund;
  private final BooleanSupplier closed;

  // Guarded by this.
  private final Set<BucketWaiters.BucketWaiter> line = new LinkedHashSet<>();
  private boolean asking;

  /** Whether the awaited reply may be out of date. */
  private boolean woken;

  private @Nullable ScheduledFuture<?> alarm;

  /** A caller that waits. */
  private final class BucketWaiter extends CompletableFuture<Boolean> {
    final long tokens;

    BucketWaiter(long tokens) {
      this.tokens = tokens;
    }

    /** Leaves the list before dependents run: they may wait again. */
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      leave(this);
      return super.cancel(mayInterruptIfRunning);
    }

    void expire() {
      leave(this);
      complete(false);
    }
  }

  /**
   * Creates an empty waiting list.
   *
   * @param bucket decides about so many tokens
   * @param refund takes them back
   * @param closed whether waiters are no longer served
   */
  public BucketWaiters(
      LongFunction<CompletableFuture<Decision>> bucket,
      LongConsumer refund,
      BooleanSupplier closed) {
    this.bucket = bucket;
    this.refund = refund;
    this.closed = closed;
  }

  /** At least two threads, so that a dependent that blocks does not delay all waiters. */
  private static ScheduledThreadPoolExecutor workers() {
    int threads = Math.max(2, Runtime.getRuntime().availableProcessors());
    ScheduledThreadPoolExecutor workers =
        new ScheduledThreadPoolExecutor(threads, BucketWaiters::thread);
    workers.setRemoveOnCancelPolicy(true);
    workers.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    workers.allowCoreThreadTimeOut(true);
    return workers;
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "sluice-waiting");
    thread.setDaemon(true);
    return thread;
  }

  /** Returns the number of waiters. */
  synchronized int size() {
    return line.size();
  }

  /** Adds a waiter; completes with whether the tokens were taken in time. */
  public @SuppressWarnings("FutureReturnValueIgnored") // what it leads to is the turn
  CompletableFuture<Boolean> enter(long tokens, Duration maxWait) {
    long maxWaitNanos = TimeUnit.NANOSECONDS.convert(maxWait);
    BucketWaiters.BucketWaiter turn = new BucketWaiters.BucketWaiter(tokens);
    if (!join(turn)) {
      return CompletableFuture.failedFuture(
          new AcquireRejectedException(
              AcquireRejectedException.Reason.TOO_MANY_WAITERS,
              "at most " + MAX_WAITING + " callers may wait for a bucket"));
    }
    ScheduledFuture<?> deadline =
        WORKERS.schedule(turn::expire, maxWaitNanos, TimeUnit.NANOSECONDS);
    turn.whenComplete(
        (taken, failure) -> {
          deadline.cancel(false);
          leave(turn);
        });
    if (isFirst(turn)) {
      wake();
    }
    return turn;
  }

  private synchronized boolean join(BucketWaiters.BucketWaiter turn) {
    return line.size() < MAX_WAITING && line.add(turn);
  }

  private synchronized boolean isFirst(BucketWaiters.BucketWaiter turn) {
    return !line.isEmpty() && line.iterator().next() == turn;
  }

  private void leave(BucketWaiters.BucketWaiter turn) {
    boolean first;
    synchronized (this) {
      first = isFirst(turn);
      line.remove(turn);
    }
    if (first) {
      wake();
    }
  }

  /** Calls Redis for the first waiter now: tokens may have been added. */
  void wake() {
    if (begin()) {
      ask();
    }
  }

  private synchronized boolean begin() {
    if (asking) {
      woken = true;
      return false;
    }
    if (alarm != null) {
      alarm.cancel(false);
      alarm = null;
    }
    asking = !line.isEmpty();
    return asking;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what it leads to is the turn
  private void ask() {
    BucketWaiters.@Nullable BucketWaiter turn = next();
    if (turn != null) {
      decide(turn)
          .whenCompleteAsync((decision, failure) -> settle(turn, decision, failure), WORKERS);
    }
  }

  private synchronized BucketWaiters.@Nullable BucketWaiter next() {
    woken = false;
    if (line.isEmpty()) {
      asking = false;
      return null;
    }
    return line.iterator().next();
  }

  private CompletableFuture<Decision> decide(BucketWaiters.BucketWaiter turn) {
    if (closed.getAsBoolean()) {
      return CompletableFuture.failedFuture(
          new RedisUnavailableException("the shared limits are closed", null));
    }
    try {
      return bucket.apply(turn.tokens);
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  private void settle(
      BucketWaiters.BucketWaiter turn, @Nullable Decision decision, @Nullable Throwable failure) {
    if (decision instanceof Decision.Denied denied) {
      if (sleeps(turn, denied.retryAfterNanos())) {
        return;
      }
    } else {
      end(turn, decision, failure);
    }
    ask();
  }

  /**
   * Returns false if Redis must be called again at once: another waiter is first, or tokens were
   * added.
   */
  private synchronized boolean sleeps(BucketWaiters.BucketWaiter turn, long retryAfterNanos) {
    if (woken || !isFirst(turn)) {
      return false;
    }
    asking = false;
    long sleepNanos = Math.min(retryAfterNanos, LONGEST_SLEEP_NANOS);
    alarm = WORKERS.schedule(this::wake, sleepNanos, TimeUnit.NANOSECONDS);
    return true;
  }

  private void end(
      BucketWaiters.BucketWaiter turn, @Nullable Decision decision, @Nullable Throwable failure) {
    synchronized (this) {
      line.remove(turn);
    }
    if (decision == null) {
      turn.completeExceptionally(
          failure == null ? new IllegalStateException("no decision") : failure);
    } else if (!decision.isGranted()) {
      turn.complete(false);
    } else if (!turn.complete(true) && !OutageDecisions.tookNothing(decision)) {
      refund.accept(turn.tokens); // the waiter has just left
    }
  }
}
