package dev.sluice.redis.limits;

import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import dev.sluice.redis.Rule;
import dev.sluice.redis.SharedLimitOptions;
import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.SharedLimitsStatus;
import dev.sluice.redis.SharedThrottle;
import dev.sluice.redis.SharedTokenBucket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Limits of this process alone: what there is without Redis. */
public final class InMemoryLimits implements SharedLimits {
  private final Map<String, InMemoryTokenBucket> buckets = new ConcurrentHashMap<>();
  private final NanoClock clock;
  private final InMemoryKeyedLimits throttle;

  public InMemoryLimits(CachedLimits remembered, NanoClock clock) {
    this.clock = clock;
    this.throttle = new InMemoryKeyedLimits(Limits.create(clock));
    for (Rule rule : remembered.rules()) {
      throttle.restore(rule);
    }
  }

  @Override
  public SharedTokenBucket bucket(String name, Limit limit) {
    return bucket(name, limit, SharedLimitOptions.defaults());
  }

  @Override
  public SharedTokenBucket bucket(String name, Limit limit, SharedLimitOptions options) {
    CostChecks.requireKey(name);
    InMemoryTokenBucket bucket = buckets.computeIfAbsent(name, absent -> create(absent, limit));
    bucket.asInTheCode(limit);
    return bucket;
  }

  private InMemoryTokenBucket create(String name, Limit limit) {
    return new InMemoryTokenBucket(name, TokenBucket.builder().limit(limit).clock(clock).build());
  }

  @Override
  public SharedThrottle throttle() {
    return throttle;
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
