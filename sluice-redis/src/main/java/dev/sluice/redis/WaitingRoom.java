package dev.sluice.redis;

import dev.sluice.Decision;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Those of this node who wait for one bucket.
 *
 * <p>Only the first of them asks, when its retry-after is over: so nobody is overtaken here, and
 * many who wait cost no more calls than one.
 */
final class WaitingRoom {
  /** As many as wait at a bucket in memory. */
  private static final int MAX_WAITING = 10_000;

  private final SharedBucket bucket;
  private final AtomicInteger waiting = new AtomicInteger();

  /** Guarded by this: completes when all who came so far have left. */
  private CompletableFuture<Void> empty = CompletableFuture.allOf();

  WaitingRoom(SharedBucket bucket) {
    this.bucket = bucket;
  }

  /** Whether the tokens were taken in time. */
  @SuppressWarnings("FutureReturnValueIgnored") // what it leads to is the turn
  CompletableFuture<Boolean> enter(long tokens, Duration maxWait) {
    if (waiting.incrementAndGet() > MAX_WAITING) {
      waiting.decrementAndGet();
      return CompletableFuture.failedFuture(
          new RejectedExecutionException("at most " + MAX_WAITING + " callers may wait"));
    }
    CompletableFuture<Boolean> turn =
        new CompletableFuture<Boolean>()
            .completeOnTimeout(false, maxWait.toNanos(), TimeUnit.NANOSECONDS);
    CompletableFuture<Void> before;
    synchronized (this) {
      before = empty;
      empty = CompletableFuture.allOf(before, turn.handle((taken, failure) -> leave()));
    }
    before.thenRun(() -> ask(turn, tokens));
    return turn;
  }

  private boolean leave() {
    waiting.decrementAndGet();
    return true;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what it leads to is the turn
  private void ask(CompletableFuture<Boolean> turn, long tokens) {
    if (!turn.isDone()) {
      bucket
          .decide(tokens)
          .whenComplete(
              (decision, failure) -> {
                if (failure != null) {
                  turn.completeExceptionally(failure);
                } else {
                  decided(turn, tokens, decision);
                }
              });
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // in an outage the tokens stay charged
  private void decided(CompletableFuture<Boolean> turn, long tokens, Decision decision) {
    if (decision.isGranted()) {
      if (!turn.complete(true)) {
        bucket.refund(tokens); // whose turn it was has just left
      }
    } else if (decision instanceof Decision.Denied denied) {
      Executor later =
          CompletableFuture.delayedExecutor(denied.retryAfterNanos(), TimeUnit.NANOSECONDS);
      later.execute(() -> ask(turn, tokens));
    } else {
      turn.complete(false);
    }
  }
}
