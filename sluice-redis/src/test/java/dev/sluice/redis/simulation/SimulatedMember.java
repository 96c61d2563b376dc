package dev.sluice.redis.simulation;

import dev.sluice.redis.internal.connection.ConnectionState;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembersView;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.redis.internal.connection.SimulatedLink;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** A process of a fleet: its clock is wrong, and it may stand still or die. */
public abstract class SimulatedMember implements Scheduler.SimulatedProcess, SimulatedLink.Clock {
  private static final long NOT_DECIDED = -1;

  private final Scheduler scheduler;
  private final String name;
  private final double speed;
  private final long offsetNanos;
  private final SimulatedWire wire;
  private boolean alive = true;
  private boolean leaving;
  private long pausedUntilNanos;
  private long repliesAfterNanos;

  /** When Redis made the decision that is being received; else negative. */
  private long decidedNanos = NOT_DECIDED;

  /**
   * Creates a process that runs.
   *
   * @param speed by how much its clock runs faster than time: 1 if it does not
   */
  protected SimulatedMember(
      Scheduler scheduler, SimulatedServer server, Random random, String name, double speed) {
    this.scheduler = scheduler;
    this.name = name;
    this.speed = speed;
    this.offsetNanos = random.nextLong() >> 4;
    this.wire = new SimulatedWire(scheduler, server, random, this);
  }

  /** Returns its connection to the fleet. */
  public abstract FleetConnection connection();

  /** Returns the name by which Redis knows it. */
  public final String name() {
    return name;
  }

  /** Returns its network. */
  public final SimulatedWire wire() {
    return wire;
  }

  /** Returns by how much its clock runs faster than time: 1 if it does not. */
  public final double speed() {
    return speed;
  }

  // ---- process

  @Override
  public final boolean isAlive() {
    return alive;
  }

  final boolean isLeaving() {
    return leaving;
  }

  @Override
  public final long pausedUntilNanos(boolean isReply) {
    return isReply && repliesAfterNanos > scheduler.nanos() ? repliesAfterNanos : pausedUntilNanos;
  }

  /** Stands still; afterwards timers run first, or answers do. */
  final void pause(long nanos, boolean timersFirst) {
    pausedUntilNanos = Math.max(pausedUntilNanos, scheduler.nanos() + nanos);
    repliesAfterNanos = timersFirst ? pausedUntilNanos + 3_000_000 : pausedUntilNanos;
    pausedUntilNanos += timersFirst ? 0 : 3_000_000;
  }

  /** Dies without a word. */
  final void kill() {
    alive = false;
    wire.die();
  }

  /** Leaves the fleet in order. */
  final void close() {
    leaving = true;
    leave();
    wire.die();
  }

  /** Tells Redis that it leaves; callers may still ask. */
  protected abstract void leave();

  @Override
  public final long nanoTime() {
    return offsetNanos + (long) (scheduler.nanos() * speed);
  }

  @Override
  public final void after(long nanos, Runnable work) {
    scheduler.after((long) Math.ceil(nanos / speed), this, work);
  }

  // ---- answers

  /** Receives an answer that Redis made at a time. */
  final void receive(long nanos, @Nullable List<Object> answer, Runnable work) {
    decidedNanos = answer == null ? NOT_DECIDED : nanos;
    try {
      work.run();
    } finally {
      decidedNanos = NOT_DECIDED;
    }
  }

  /** Returns when what is granted now was decided: earlier if Redis did it. */
  final long decidedNanos() {
    return decidedNanos == NOT_DECIDED ? scheduler.nanos() : decidedNanos;
  }

  /** Returns whether what is granted now was decided by this node's share. */
  public final boolean decidesLocally() {
    return decidedNanos == NOT_DECIDED && connection().state() == ConnectionState.OUT;
  }

  /** Returns the part of every limit that it believes to have. */
  public final int share() {
    MembersView view = connection().view();
    return view == null ? 0 : view.share();
  }

  @Override
  public String toString() {
    return name
        + " ("
        + connection().state()
        + ", "
        + share()
        + " of "
        + MembershipConfig.PARTS
        + ")";
  }
}
