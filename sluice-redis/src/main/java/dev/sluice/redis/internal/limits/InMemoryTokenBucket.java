package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import dev.sluice.redis.SharedTokenBucket;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A token bucket of this process alone. Thread-safe. */
public final class InMemoryTokenBucket implements SharedTokenBucket {
  private final String name;
  private final TokenBucket bucket;

  /** Guarded by this: {@link #reconfigure} takes precedence over later calls of {@link #use}. */
  private boolean reconfigured;

  InMemoryTokenBucket(String name, TokenBucket bucket) {
    this.name = name;
    this.bucket = bucket;
  }

  synchronized void use(Limit limit) {
    if (!reconfigured) {
      bucket.reconfigure(limit);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Limit limit() {
    return bucket.limit();
  }

  @Override
  public CompletableFuture<Boolean> tryAcquire(long tokens) {
    return Futures.now(bucket.tryAcquire(tokens));
  }

  @Override
  public CompletableFuture<Decision> decide(long tokens) {
    return Futures.now(bucket.decide(tokens));
  }

  @Override
  public CompletableFuture<Decision> peek(long tokens) {
    return Futures.now(bucket.peek(tokens));
  }

  @Override
  public CompletableFuture<Boolean> acquire(long tokens, Duration maxWait) {
    CostChecks.requireWait(maxWait);
    if (tokens > bucket.limit().capacity()) {
      return Futures.now(false);
    }
    return bucket.acquireAsync(tokens, maxWait);
  }

  @Override
  public CompletableFuture<Long> available() {
    return Futures.now(bucket.available());
  }

  @Override
  public CompletableFuture<Optional<Duration>> timeToFull() {
    return Futures.now(bucket.timeToFull());
  }

  @Override
  public CompletableFuture<Void> replenish(long tokens) {
    return Futures.after(() -> bucket.replenish(tokens));
  }

  @Override
  public CompletableFuture<Void> reset() {
    return Futures.after(bucket::reset);
  }

  @Override
  public synchronized CompletableFuture<Void> reconfigure(Limit limit) {
    bucket.reconfigure(limit);
    reconfigured = true;
    return Futures.after(() -> {});
  }
}
