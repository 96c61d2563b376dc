package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Buckets whose clock stands still: only the order of operations matters in these tests. */
final class Buckets {
  private static final int PATIENCE_SECONDS = 10;

  private Buckets() {}

  static TokenBucket balanced(long capacity, long initialTokens) {
    return of(perSecond(capacity), initialTokens);
  }

  static TokenBucket manual(long capacity, long initialTokens) {
    return of(new Limit.Manual(capacity), initialTokens);
  }

  static TokenBucket of(Limit limit, long initialTokens) {
    return TokenBucket.builder().limit(limit).initialTokens(initialTokens).clock(() -> 0).build();
  }

  static Limit perSecond(long capacity) {
    return new Limit.Balanced(capacity, 1, Duration.ofSeconds(1));
  }

  /** Takes {@code tokens}: how many were granted, all or none. */
  static int take(TokenBucket bucket, int tokens) {
    return bucket.tryAcquire(tokens) ? tokens : 0;
  }

  /**
   * Returns whether {@code request} was granted; cancels it if it waits. Tokens are granted before
   * the future completes, possibly on another thread; after a failed cancel it must complete.
   */
  static boolean isGranted(CompletableFuture<Void> request) {
    if (request.cancel(false)) {
      return false;
    }
    try {
      request.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      return true;
    } catch (ExecutionException refused) {
      return false;
    } catch (InterruptedException | TimeoutException e) {
      throw new IllegalStateException("decided, but its future does not say so", e);
    }
  }
}
