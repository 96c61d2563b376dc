package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.Throttle;
import dev.sluice.TokenBucket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Limits of this process alone: what there is without Redis. */
final class MemoryLimits implements SharedLimits {
  private final Map<String, MemoryBucket> buckets = new ConcurrentHashMap<>();
  private final NanoClock clock;
  private final MemoryThrottle throttle;

  MemoryLimits(RememberedRules remembered, NanoClock clock) {
    this.clock = clock;
    this.throttle = new MemoryThrottle(Throttle.create(clock));
    for (Rule rule : remembered.rules()) {
      throttle.restore(rule);
    }
  }

  @Override
  public SharedBucket bucket(String name, Limit limit, LimiterOptions options) {
    Costs.requireKey(name);
    MemoryBucket bucket = buckets.computeIfAbsent(name, absent -> create(absent, limit));
    bucket.asInTheCode(limit);
    return bucket;
  }

  private MemoryBucket create(String name, Limit limit) {
    return new MemoryBucket(name, TokenBucket.builder().limit(limit).clock(clock).build());
  }

  @Override
  public SharedThrottle throttle(LimiterOptions options) {
    return throttle;
  }

  @Override
  public LimitsStatus status() {
    return new LimitsStatus(true, 1, 0, 0, 0, 0, 0, 0, 0);
  }

  @Override
  public void close() {
    // Nothing is open.
  }
}
