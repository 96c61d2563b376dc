package dev.sluice.bench.redis;

import dev.sluice.Limit;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.SharedLimitOptions;
import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.SharedLimitsStatus;
import dev.sluice.redis.SharedTokenBucket;
import java.util.concurrent.CompletionStage;

/**
 * Sluice: a bucket, and limits with a template for the keys. Requests without a timely answer of
 * Redis are denied, so that only grants of Redis or of a token block are counted.
 */
final class SluiceSharedLimiter implements SharedLimiter {
  private static final SharedLimitOptions DENY_IN_OUTAGES =
      SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED);

  private final SharedLimits limits;
  private final SharedTokenBucket bucket;
  private final SharedTokenBucket.Blocking blocking;
  private final SharedLimits.Blocking throttle;

  private SluiceSharedLimiter(
      String url, String prefix, long perSecond, SharedLimitOptions options) {
    limits = SharedLimits.builder().url(url).prefix(prefix).options(options).build();
    if (!limits.status().available()) {
      throw new IllegalStateException("Redis does not answer: " + limits.status());
    }
    bucket = limits.bucket("hot-" + perSecond, Limit.perSecond(perSecond));
    blocking = bucket.blocking();
    throttle = limits.blocking();
    throttle.set("user:*", new Limit.Rate((double) perSecond, (double) perSecond));
  }

  static SharedLimiter exact(String url, long perSecond) {
    return new SluiceSharedLimiter(url, "exact:", perSecond, DENY_IN_OUTAGES);
  }

  static SharedLimiter leased(String url, long perSecond) {
    return new SluiceSharedLimiter(url, "leased:", perSecond, DENY_IN_OUTAGES.withTokenBlocks());
  }

  @Override
  public boolean tryConsume() {
    return blocking.tryAcquire();
  }

  @Override
  public CompletionStage<Boolean> tryConsumeAsync() {
    return bucket.tryAcquire();
  }

  @Override
  public boolean tryConsume(String key) {
    return throttle.tryAcquire(key);
  }

  @Override
  public String notes() {
    SharedLimitsStatus status = limits.status();
    return "%,d decided in Redis, %,d by lease, %,d timed out, %,d outages"
        .formatted(status.fromRedis(), status.fromBlocks(), status.timeouts(), status.outages());
  }

  @Override
  public void close() {
    limits.close();
  }
}
