package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.redis.link.FleetConnection;
import dev.sluice.redis.link.SimulatedLink;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** The limits of one node of a simulation: the classes of production on a simulated link. */
public final class SimulatedLimits {
  private final Fleet fleet;
  private final Leaseholders leases;

  /**
   * Creates limits with the policy {@code LOCAL}.
   *
   * @param node the name of the node
   * @param rules the rates of keys
   * @param lease how tokens are taken in advance
   */
  public SimulatedLimits(
      String node,
      Duration timeout,
      int expectedNodes,
      List<Rule> rules,
      Lease lease,
      SimulatedLink.Clock clock,
      SimulatedLink.Wire wire) {
    LimitsConfig config =
        new LimitsConfig(
            "",
            timeout,
            OutagePolicy.LOCAL,
            expectedNodes,
            event -> {},
            new RememberedRules(rules, 1),
            null);
    this.fleet =
        new Fleet(
            config,
            node,
            false,
            (terms, membership, member) ->
                SimulatedLink.create(terms, membership, member, clock, wire));
    AtomicLong numbers = new AtomicLong();
    this.leases = new Leaseholders(fleet, lease, () -> node + '.' + numbers.incrementAndGet());
  }

  /** Returns the connection, to look at its state and view. */
  public FleetConnection connection() {
    return fleet.connection();
  }

  /** Returns a bucket that decides in Redis. */
  public SharedBucket bucket(String name, Limit limit) {
    return new RedisBucket(fleet, name, Quota.of(limit), OutagePolicy.LOCAL, null);
  }

  /** Returns a bucket that decides from blocks where it can. */
  public SharedBucket leased(String name, Limit limit) {
    return new RedisBucket(fleet, name, Quota.of(limit), OutagePolicy.LOCAL, leases);
  }

  /** Returns the throttle. */
  public SharedThrottle throttle() {
    return new RedisThrottle(fleet, OutagePolicy.LOCAL, false, null);
  }

  /** Returns blocks that are not used; {@link Leases} does so by a timer. */
  public void sweep() {
    leases.sweep();
  }

  /** Leaves the fleet. */
  public void close() {
    var unused = leases.leave();
    fleet.close();
  }
}
