package dev.sluice.redis.simulation;

import dev.sluice.redis.Lease;
import dev.sluice.redis.Rule;
import dev.sluice.redis.SharedBucket;
import dev.sluice.redis.SharedThrottle;
import dev.sluice.redis.SimulatedLimits;
import dev.sluice.redis.link.FleetConnection;
import dev.sluice.redis.link.FleetState;
import dev.sluice.redis.link.FleetView;
import dev.sluice.redis.link.Membership;
import dev.sluice.redis.link.SimulatedLink;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A process with limits: its clock is wrong, and it may stand still or die. */
final class SimulatedNode implements Scheduler.Process, SimulatedLink.Clock {
  private static final int SWEEPS_PER_TTL = 8;
  private static final long NOT_DECIDED = -1;

  private final Scheduler scheduler;
  private final String name;
  private final double speed;
  private final long offsetNanos;
  private final SimulatedWire wire;
  private final SimulatedLimits limits;
  private final SharedThrottle throttle;
  private final Map<Target, SharedBucket> buckets = new LinkedHashMap<>();
  private boolean alive = true;
  private boolean leaving;
  private long pausedUntilNanos;
  private long repliesAfterNanos;

  /** When Redis made the decision that is being received; else negative. */
  private long decidedNanos = NOT_DECIDED;

  SimulatedNode(
      Scheduler scheduler,
      SimulatedServer server,
      Random random,
      String name,
      double speed,
      Settings settings) {
    this.scheduler = scheduler;
    this.name = name;
    this.speed = speed;
    this.offsetNanos = random.nextLong() >> 4;
    this.wire = new SimulatedWire(scheduler, server, random, this);
    List<Rule> rules =
        settings.targets().stream()
            .filter(target -> target.kind() == Target.Kind.KEY)
            .map(each -> new Rule(each.name(), each.perNano() * 1e9, each.capacity()))
            .toList();
    this.limits =
        new SimulatedLimits(
            name,
            settings.timeout(),
            settings.expectedNodes(),
            rules,
            settings.lease(),
            this,
            wire);
    this.throttle = limits.throttle();
    for (Target target : settings.targets()) {
      if (target.kind() == Target.Kind.BUCKET) {
        buckets.put(target, limits.bucket(target.name(), target.limit()));
      } else if (target.kind() == Target.Kind.LEASED) {
        buckets.put(target, limits.leased(target.name(), target.limit()));
      }
    }
    SimulatedLink.begin(limits.connection());
    sweepLater(settings.lease().ttl().toNanos() / SWEEPS_PER_TTL);
  }

  /** What all nodes have in common. */
  record Settings(List<Target> targets, Duration timeout, int expectedNodes, Lease lease) {}

  private void sweepLater(long nanos) {
    after(
        nanos,
        () -> {
          limits.sweep();
          sweepLater(nanos);
        });
  }

  String name() {
    return name;
  }

  SimulatedWire wire() {
    return wire;
  }

  FleetConnection connection() {
    return limits.connection();
  }

  /** Returns by how much its clock runs faster than time: 1 if it does not. */
  double speed() {
    return speed;
  }

  // ---- process

  @Override
  public boolean isAlive() {
    return alive;
  }

  boolean isLeaving() {
    return leaving;
  }

  @Override
  public long pausedUntilNanos(boolean isReply) {
    return isReply && repliesAfterNanos > scheduler.nanos() ? repliesAfterNanos : pausedUntilNanos;
  }

  /** Stands still; afterwards timers run first, or answers do. */
  void pause(long nanos, boolean timersFirst) {
    pausedUntilNanos = Math.max(pausedUntilNanos, scheduler.nanos() + nanos);
    repliesAfterNanos = timersFirst ? pausedUntilNanos + 3_000_000 : pausedUntilNanos;
    pausedUntilNanos += timersFirst ? 0 : 3_000_000;
  }

  /** Dies without a word. */
  void kill() {
    alive = false;
    wire.die();
  }

  /** Leaves the fleet in order; callers may still ask. */
  void close() {
    leaving = true;
    limits.close();
    wire.die();
  }

  @Override
  public long nanoTime() {
    return offsetNanos + (long) (scheduler.nanos() * speed);
  }

  @Override
  public void after(long nanos, Runnable work) {
    scheduler.after((long) Math.ceil(nanos / speed), this, work);
  }

  // ---- calls

  /** Receives an answer that Redis made at a time. */
  void receive(long nanos, Request request, @Nullable List<Object> answer, Runnable work) {
    decidedNanos = answer == null ? NOT_DECIDED : nanos;
    try {
      work.run();
    } finally {
      decidedNanos = NOT_DECIDED;
    }
  }

  /** Returns when what is granted now was decided: earlier if Redis did it. */
  long decidedNanos() {
    return decidedNanos == NOT_DECIDED ? scheduler.nanos() : decidedNanos;
  }

  /** Returns whether what is granted now was decided by this node's share. */
  boolean decidesLocally() {
    return decidedNanos == NOT_DECIDED && connection().state() == FleetState.OUT;
  }

  CompletableFuture<Boolean> ask(Target target, long tokens) {
    SharedBucket bucket = buckets.get(target);
    if (bucket == null) {
      throw new IllegalArgumentException("a key is asked for with the others: " + target.name());
    }
    return bucket.tryConsume(tokens);
  }

  CompletableFuture<Boolean> ask(Map<String, Long> costs) {
    return throttle.tryConsume(costs);
  }

  /** Returns the part of every limit that it believes to have. */
  int share() {
    FleetView view = connection().view();
    return view == null ? 0 : view.share();
  }

  @Override
  public String toString() {
    return name + " (" + connection().state() + ", " + share() + " of " + Membership.PARTS + ")";
  }
}
