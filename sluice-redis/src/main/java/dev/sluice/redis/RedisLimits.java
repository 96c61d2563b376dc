package dev.sluice.redis;

import dev.sluice.Limit;

/** Limits in Redis. */
final class RedisLimits implements SharedLimits {
  static RedisLimits open(RedisAddress address, LimitsConfig config) {
    throw new UnsupportedOperationException("soon: " + address + config);
  }

  @Override
  public SharedBucket bucket(String name, Limit limit, LimiterOptions options) {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public SharedThrottle throttle(LimiterOptions options) {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public LimitsStatus status() {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public void close() {}
}
