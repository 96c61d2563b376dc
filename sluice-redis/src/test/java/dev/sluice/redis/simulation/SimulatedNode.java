package dev.sluice.redis.simulation;

import dev.sluice.Limit;
import dev.sluice.redis.SharedTokenBucket;
import dev.sluice.redis.SimulatedLimits;
import dev.sluice.redis.TokenBlockConfig;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.SimulatedLink;
import dev.sluice.redis.internal.limits.RedisKeyedLimits;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** A process with limits. */
final class SimulatedNode extends SimulatedMember {
  private static final int SWEEPS_PER_TTL = 8;
  private final SimulatedLimits limits;
  private final RedisKeyedLimits named;
  private final Map<Target, SharedTokenBucket> buckets = new LinkedHashMap<>();

  SimulatedNode(
      Scheduler scheduler,
      SimulatedServer server,
      Random random,
      String name,
      double speed,
      Settings settings) {
    super(scheduler, server, random, name, speed);
    SortedMap<String, Limit> named = new TreeMap<>();
    settings.targets().stream()
        .filter(target -> target.kind() == Target.Kind.KEY)
        .forEach(
            each -> named.put(each.name(), new Limit.Rate(each.perNano() * 1e9, each.capacity())));
    this.limits =
        new SimulatedLimits(
            name,
            settings.timeout(),
            settings.expectedNodes(),
            named,
            settings.lease(),
            this,
            wire());
    this.named = limits.named();
    for (Target target : settings.targets()) {
      if (target.kind() == Target.Kind.BUCKET) {
        buckets.put(target, limits.bucket(target.name(), target.limit()));
      } else if (target.kind() == Target.Kind.LEASED) {
        buckets.put(target, limits.leased(target.name(), target.limit()));
      }
    }
    SimulatedLink.begin(limits.connection());
    sweepLater(settings.lease().lifetime().toNanos() / SWEEPS_PER_TTL);
  }

  /** The settings that all nodes have in common. */
  record Settings(
      List<Target> targets, Duration timeout, int expectedNodes, TokenBlockConfig lease) {}

  private void sweepLater(long nanos) {
    after(
        nanos,
        () -> {
          limits.sweep();
          sweepLater(nanos);
        });
  }

  @Override
  public FleetConnection connection() {
    return limits.connection();
  }

  @Override
  protected void leave() {
    limits.close();
  }

  CompletableFuture<Boolean> ask(Target target, long tokens) {
    SharedTokenBucket bucket = buckets.get(target);
    if (bucket == null) {
      throw new IllegalArgumentException("a key is asked for with the others: " + target.name());
    }
    return bucket.tryAcquire(tokens);
  }

  CompletableFuture<Boolean> ask(Map<String, Long> costs) {
    return named.tryAcquire(costs);
  }
}
