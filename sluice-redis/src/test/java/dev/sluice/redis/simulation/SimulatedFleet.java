package dev.sluice.redis.simulation;

import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.simulation.Faults.Fault;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Nodes, one Redis and what happens to them, all determined by a seed.
 *
 * @param <N> the nodes
 */
public abstract class SimulatedFleet<N extends SimulatedMember> {
  private static final int MOST_NODES = 6;

  private final Scheduler scheduler = new Scheduler();
  private final RedisScripts scripts;
  private final SimulatedServer server;
  private final List<N> nodes = new ArrayList<>();
  private final List<Fault> faults;
  private final Memberships memberships = new Memberships();
  private final List<String> log = new ArrayList<>();
  private final boolean verbose;
  private int joined;
  private long troubledUntilNanos;
  private long digest;

  /**
   * Creates a fleet without nodes.
   *
   * @param random of the server
   * @param faults in the order of their times
   * @param verbose whether to log what happens
   */
  protected SimulatedFleet(
      RedisScripts scripts, Random random, List<Fault> faults, boolean verbose) {
    this.scripts = scripts;
    this.faults = faults;
    this.verbose = verbose;
    this.server = new SimulatedServer(scheduler, scripts, random, this::hear);
  }

  /** Creates a node, and its callers. */
  protected abstract N newNode(int number);

  /** A script has run. */
  protected abstract void ran(
      Request request, @Nullable List<Object> answer, @Nullable Throwable failure);

  /** Redis has lost data: what it has now is older. */
  protected abstract void lostData();

  // ---- parts

  /** Returns the time. */
  public final Scheduler scheduler() {
    return scheduler;
  }

  /** Returns Redis as the nodes meet it. */
  public final SimulatedServer server() {
    return server;
  }

  /** Returns the real server. */
  public final RedisScripts scripts() {
    return scripts;
  }

  /** Returns which nodes have a share that Redis reserves. */
  public final Memberships memberships() {
    return memberships;
  }

  /** Returns all nodes that ever were. */
  public final List<N> nodes() {
    return nodes;
  }

  /** Returns the nodes that live and stay. */
  public final List<N> livingNodes() {
    return nodes.stream().filter(node -> node.isAlive() && !node.isLeaving()).toList();
  }

  /** Returns one of the nodes that live, by any number. */
  public final N node(int index) {
    List<N> alive = livingNodes();
    return alive.get(index % alive.size());
  }

  final SimulatedWire wire(int index) {
    return node(index).wire();
  }

  // ---- what happens

  /** Has nodes join, and faults wait for their time. */
  protected final void begin(int count) {
    for (int i = 0; i < count; i++) {
      join();
    }
    for (Fault fault : faults) {
      scheduler.after(
          fault.nanos(),
          () -> {
            note(() -> "FAULT " + fault.text());
            fault.effect().accept(this);
          });
    }
  }

  private void hear(Request request, @Nullable List<Object> answer, @Nullable Throwable failure) {
    memberships.ran(request, answer, scheduler.nanos(), this::shareOf);
    ran(request, answer, failure);
  }

  private int shareOf(String name) {
    return livingNodes().stream()
        .filter(node -> node.name().equals(name))
        .mapToInt(SimulatedMember::share)
        .sum();
  }

  /** Counts something in the digest, and logs it. */
  public final void note(Supplier<String> text) {
    digest = digest * 31 + scheduler.nanos();
    if (verbose) {
      log.add("%.6f %s".formatted(scheduler.nanos() / 1e9, shortened(text.get())));
    }
  }

  /** Returns a line of the log without names that nobody can repeat. */
  protected String shortened(String line) {
    return line;
  }

  /** Returns a number that stands for the times of all that happened. */
  public final long digest() {
    return digest;
  }

  /** Returns what happened, if it was logged. */
  public final List<String> log() {
    return log;
  }

  /** Returns a script and its answer in words. */
  protected static String describe(
      Request request, @Nullable List<Object> answer, @Nullable Throwable failure) {
    boolean isHeartbeat = request.script() == FleetConnection.HEARTBEAT;
    return request.node()
        + (isHeartbeat ? " heartbeat " : " " + request.script() + " ")
        + String.join(" ", request.arguments())
        + " -> "
        + (answer == null ? failure : answer);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (Fault fault : faults) {
      text.append("  %.3f s: %s%n".formatted(fault.nanos() / 1e9, fault.text()));
    }
    return text.toString();
  }

  // ---- faults

  /** Returns when the last fault that has begun is over. */
  public final long troubledUntilNanos() {
    return troubledUntilNanos;
  }

  /** A fault lasts for so long. */
  final void lasts(long nanos) {
    troubledUntilNanos = Math.max(troubledUntilNanos, scheduler.nanos() + nanos);
  }

  /** A fault lasts for so long, and ends by that. */
  final void endLater(long nanos, Runnable end) {
    lasts(nanos);
    scheduler.after(nanos, end);
  }

  final void join() {
    if (nodes.stream().filter(SimulatedMember::isAlive).count() < MOST_NODES) {
      nodes.add(newNode(joined++));
    }
  }

  /** Kills a node. */
  protected final void kill(int index) {
    if (livingNodes().size() > 1) {
      node(index).kill();
    }
  }

  /** Has a node leave in order. */
  protected void leave(int index) {
    if (livingNodes().size() > 1) {
      N node = node(index);
      scheduler.after(0, node, node::close);
    }
  }

  final void killServer() {
    server.kill();
    nodes.stream().filter(SimulatedMember::isAlive).forEach(node -> node.wire().breakLine());
  }

  final void loseData() {
    scripts.clear();
    memberships.lost();
    lostData();
  }

  final void saveData() {
    scripts.save();
  }

  final void restoreData() {
    scripts.restore();
    memberships.wentBack();
    lostData();
  }

  /** Sets the clock of Redis. */
  protected void step(long micros) {
    server.step(micros);
  }
}
