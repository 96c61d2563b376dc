package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.SharedLimitOptions;
import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.SharedLimitsStatus;
import dev.sluice.redis.SharedTokenBucket;
import dev.sluice.redis.internal.connection.RedisAddress;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Limits in Redis. */
public final class RedisLimits implements SharedLimits {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);
  private static final int NODE_BYTES = 8;
  private static final String WARM_UP = "{fleet}:warm-up";
  private static final int WARM_UP_CALLS = 20;

  private final LimitsFleetMember fleet;
  private final TokenBlocks leases;
  private final SharedLimitOptions options;
  private final RedisKeyedLimits named;

  private RedisLimits(LimitsFleetMember fleet, TokenBlocks leases, SharedLimitOptions options) {
    this.fleet = fleet;
    this.leases = leases;
    this.options = options;
    this.named =
        new RedisKeyedLimits(
            fleet,
            options.outageMode(),
            options.crossSlotRequests(),
            leases.of(options.tokenBlocks()));
  }

  public static RedisLimits open(RedisAddress address, SharedLimitsConfig config) {
    byte[] bytes = new byte[NODE_BYTES];
    new SecureRandom().nextBytes(bytes);
    String node = HexFormat.of().formatHex(bytes);
    LOG.info("limits are shared through Redis at {}", address);
    LimitsFleetMember fleet = new LimitsFleetMember(address, config, node);
    fleet.start();
    RedisLimits limits = new RedisLimits(fleet, new TokenBlocks(fleet, node), config.options());
    limits.warmUp(config.timeout());
    return limits;
  }

  /**
   * Makes decisions about a bucket of its own until one is fast. The first in a process loads
   * classes and may take longer than the time-out, so a caller would be denied.
   */
  private void warmUp(Duration timeout) {
    Limit brief = new Limit.Balanced(1, 1, Duration.ofMillis(1));
    SharedTokenBucket.Blocking bucket =
        new RedisTokenBucket(fleet, WARM_UP, ScriptLimit.of(brief), OutageMode.CLOSED, null)
            .blocking();
    for (int i = 0; i < WARM_UP_CALLS && fleet.isAvailable(); i++) {
      long start = System.nanoTime();
      bucket.decide(1);
      if (System.nanoTime() - start < timeout.toNanos() / 2) {
        break;
      }
    }
    fleet.counts().reset();
  }

  public LimitsFleetMember fleet() {
    return fleet;
  }

  @Override
  public CompletableFuture<Void> set(String name, Limit limit) {
    return named.set(name, limit);
  }

  @Override
  public CompletableFuture<Boolean> remove(String name) {
    return named.remove(name);
  }

  @Override
  public SortedMap<String, Limit> limits() {
    return named.limits();
  }

  @Override
  public CompletableFuture<Boolean> tryAcquire(String name) {
    return named.tryAcquire(name);
  }

  @Override
  public CompletableFuture<Boolean> tryAcquire(Map<String, Long> costs) {
    return named.tryAcquire(costs);
  }

  @Override
  public CompletableFuture<Decision> decide(String name, long tokens) {
    return named.decide(name, tokens);
  }

  @Override
  public CompletableFuture<Decision> decide(Map<String, Long> costs) {
    return named.decide(costs);
  }

  @Override
  public CompletableFuture<Decision> peek(Map<String, Long> costs) {
    return named.peek(costs);
  }

  @Override
  public CompletableFuture<Optional<LimitStats>> stats(String name) {
    return named.stats(name);
  }

  @Override
  public SharedTokenBucket bucket(String name, Limit limit) {
    return bucket(name, limit, options);
  }

  @Override
  public SharedTokenBucket bucket(String name, Limit limit, SharedLimitOptions options) {
    CostChecks.requireName(name);
    ScriptLimit quota = ScriptLimit.of(limit);
    fleet.use(options.outageMode());
    return new RedisTokenBucket(
        fleet, name, quota, options.outageMode(), leases.of(options.tokenBlocks()));
  }

  @Override
  public SharedLimitsStatus status() {
    return fleet.status();
  }

  @Override
  public void close() {
    leases.close();
    fleet.close();
  }
}
