package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.redis.link.RedisAddress;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Limits in Redis. */
final class RedisLimits implements SharedLimits {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);
  private static final int NODE_BYTES = 8;
  private static final String WARM_UP = "{fleet}:warm-up";
  private static final int WARM_UP_CALLS = 20;

  private final Fleet fleet;
  private final Leases leases;
  private final OutagePolicy outage;

  private RedisLimits(Fleet fleet, Leases leases, OutagePolicy outage) {
    this.fleet = fleet;
    this.leases = leases;
    this.outage = outage;
  }

  static RedisLimits open(RedisAddress address, LimitsConfig config) {
    byte[] bytes = new byte[NODE_BYTES];
    new SecureRandom().nextBytes(bytes);
    String node = HexFormat.of().formatHex(bytes);
    LOG.info("limits are shared through Redis at {}", address);
    Fleet fleet = new Fleet(address, config, node);
    fleet.start();
    RedisLimits limits = new RedisLimits(fleet, new Leases(fleet, node), config.outage());
    limits.warmUp(config.timeout());
    return limits;
  }

  /**
   * Makes decisions about a bucket of its own until one is fast. The first in a process loads
   * classes and may take longer than the time-out, so a caller would be denied.
   */
  private void warmUp(Duration timeout) {
    Limit brief = new Limit.Balanced(1, 1, Duration.ofMillis(1));
    SharedBucket.Blocking bucket =
        new RedisBucket(fleet, WARM_UP, Quota.of(brief), OutagePolicy.CLOSED, null).blocking();
    for (int i = 0; i < WARM_UP_CALLS && fleet.isAvailable(); i++) {
      long start = System.nanoTime();
      bucket.decide(1);
      if (System.nanoTime() - start < timeout.toNanos() / 2) {
        break;
      }
    }
    fleet.counts().reset();
  }

  Fleet fleet() {
    return fleet;
  }

  @Override
  public SharedBucket bucket(String name, Limit limit, LimiterOptions options) {
    Costs.requireKey(name);
    Quota quota = Quota.of(limit);
    return new RedisBucket(fleet, name, quota, policy(options), leases.of(options.lease()));
  }

  private OutagePolicy policy(LimiterOptions options) {
    OutagePolicy policy = options.outage() == null ? outage : options.outage();
    fleet.use(policy);
    return policy;
  }

  @Override
  public SharedThrottle throttle(LimiterOptions options) {
    return new RedisThrottle(
        fleet, policy(options), options.acrossSlots(), leases.of(options.lease()));
  }

  @Override
  public LimitsStatus status() {
    return fleet.status();
  }

  @Override
  public void close() {
    leases.close();
    fleet.close();
  }
}
