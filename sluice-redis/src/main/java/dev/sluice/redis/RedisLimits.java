package dev.sluice.redis;

import dev.sluice.Limit;
import java.security.SecureRandom;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Limits in Redis. */
final class RedisLimits implements SharedLimits {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);
  private static final int NODE_BYTES = 8;

  private final Fleet fleet;
  private final OutagePolicy outage;

  private RedisLimits(Fleet fleet, OutagePolicy outage) {
    this.fleet = fleet;
    this.outage = outage;
  }

  static RedisLimits open(RedisAddress address, LimitsConfig config) {
    byte[] node = new byte[NODE_BYTES];
    new SecureRandom().nextBytes(node);
    LOG.info("limits are shared through Redis at {}", address);
    Fleet fleet = new Fleet(address, config, HexFormat.of().formatHex(node));
    fleet.start();
    return new RedisLimits(fleet, config.outage());
  }

  Fleet fleet() {
    return fleet;
  }

  @Override
  public SharedBucket bucket(String name, Limit limit, LimiterOptions options) {
    Costs.requireKey(name);
    Quota quota = Quota.of(limit);
    return new RedisBucket(fleet, name, quota, policy(options));
  }

  private OutagePolicy policy(LimiterOptions options) {
    return options.outage() == null ? outage : options.outage();
  }

  @Override
  public SharedThrottle throttle(LimiterOptions options) {
    return new RedisThrottle(fleet, policy(options), options.acrossSlots());
  }

  @Override
  public LimitsStatus status() {
    return fleet.status();
  }

  @Override
  public void close() {
    fleet.close();
  }
}
