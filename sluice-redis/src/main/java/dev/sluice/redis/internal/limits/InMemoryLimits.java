package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Limits;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import dev.sluice.redis.SharedLimitOptions;
import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.SharedLimitsStatus;
import dev.sluice.redis.SharedTokenBucket;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Limits of this process alone, used if no Redis is configured. */
public final class InMemoryLimits implements SharedLimits {
  private final Map<String, InMemoryTokenBucket> buckets = new ConcurrentHashMap<>();
  private final NanoClock clock;
  private final InMemoryKeyedLimits named;

  public InMemoryLimits(CachedLimits cached, NanoClock clock) {
    this.clock = clock;
    this.named = new InMemoryKeyedLimits(Limits.builder().clock(clock).build());
    cached.limits().forEach(named::restore);
  }

  @Override
  public CompletableFuture<Void> set(String name, Limit limit) {
    return Futures.after(() -> named.set(name, limit));
  }

  @Override
  public CompletableFuture<Boolean> remove(String name) {
    return Futures.now(named.remove(name));
  }

  @Override
  public SortedMap<String, Limit> limits() {
    return named.limits();
  }

  @Override
  public CompletableFuture<Boolean> tryAcquire(Map<String, Long> costs) {
    return Futures.now(named.tryAcquire(costs));
  }

  @Override
  public CompletableFuture<Decision> decide(String name, long tokens) {
    return decide(Map.of(name, tokens));
  }

  @Override
  public CompletableFuture<Decision> decide(Map<String, Long> costs) {
    return Futures.now(named.decide(costs));
  }

  @Override
  public CompletableFuture<Decision> peek(Map<String, Long> costs) {
    return Futures.now(named.peek(costs));
  }

  @Override
  public CompletableFuture<Optional<LimitStats>> stats(String name) {
    return Futures.now(named.stats(name));
  }

  @Override
  public SharedTokenBucket bucket(String name, Limit limit) {
    return bucket(name, limit, SharedLimitOptions.defaults());
  }

  @Override
  public SharedTokenBucket bucket(String name, Limit limit, SharedLimitOptions options) {
    CostChecks.requireName(name);
    InMemoryTokenBucket bucket = buckets.computeIfAbsent(name, absent -> create(absent, limit));
    bucket.use(limit);
    return bucket;
  }

  private InMemoryTokenBucket create(String name, Limit limit) {
    return new InMemoryTokenBucket(name, TokenBucket.builder().limit(limit).clock(clock).build());
  }

  @Override
  public SharedLimitsStatus status() {
    return new SharedLimitsStatus(true, 1, 0, 0, 0, 0, 0, 0, 0);
  }

  @Override
  public void close() {
    // Nothing is open.
  }
}
