package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.SimulatedLink;
import dev.sluice.redis.internal.limits.CachedLimits;
import dev.sluice.redis.internal.limits.LimitsFleetMember;
import dev.sluice.redis.internal.limits.RedisKeyedLimits;
import dev.sluice.redis.internal.limits.RedisTokenBucket;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.redis.internal.limits.SharedLimitsConfig;
import dev.sluice.redis.internal.limits.TokenBlockDecider;
import dev.sluice.redis.internal.limits.TokenBlocks;
import java.time.Duration;
import java.util.SortedMap;
import java.util.concurrent.atomic.AtomicLong;

/** The limits of one node of a simulation: the classes of production on a simulated link. */
public final class SimulatedLimits {
  private final LimitsFleetMember fleet;
  private final TokenBlockDecider leases;

  /**
   * Creates limits with the policy {@code LOCAL}.
   *
   * @param node the name of the node
   * @param named the named limits
   * @param lease how tokens are taken in advance
   */
  public SimulatedLimits(
      String node,
      Duration timeout,
      int expectedNodes,
      SortedMap<String, Limit> named,
      TokenBlockConfig lease,
      SimulatedLink.Clock clock,
      SimulatedLink.Wire wire) {
    SharedLimitsConfig config =
        new SharedLimitsConfig(
            "",
            timeout,
            SharedLimitOptions.defaults(),
            expectedNodes,
            OutageListener.NONE,
            (limits, version) -> {},
            new CachedLimits(named, 1),
            null);
    this.fleet =
        new LimitsFleetMember(
            config,
            node,
            false,
            (terms, membership, member) ->
                SimulatedLink.create(terms, membership, member, clock, wire));
    AtomicLong numbers = new AtomicLong();
    this.leases = new TokenBlockDecider(fleet, lease, () -> node + '.' + numbers.incrementAndGet());
  }

  /** Returns the connection, to look at its state and view. */
  public FleetConnection connection() {
    return fleet.connection();
  }

  /** Returns a bucket that decides in Redis. */
  public SharedTokenBucket bucket(String name, Limit limit) {
    return new RedisTokenBucket(fleet, name, ScriptLimit.of(limit), OutageMode.LOCAL, null);
  }

  /** Returns a bucket that decides from blocks where it can. */
  public SharedTokenBucket leased(String name, Limit limit) {
    return new RedisTokenBucket(fleet, name, ScriptLimit.of(limit), OutageMode.LOCAL, leases);
  }

  /** Returns the named limits. */
  public RedisKeyedLimits named() {
    return new RedisKeyedLimits(fleet, OutageMode.LOCAL, false, null);
  }

  /** Returns blocks that are not used; {@link TokenBlocks} does so by a timer. */
  public void sweep() {
    leases.sweep();
  }

  /** Leaves the fleet. */
  public void close() {
    var unused = leases.leave();
    fleet.close();
  }
}
