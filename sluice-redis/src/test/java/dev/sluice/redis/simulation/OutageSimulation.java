package dev.sluice.redis.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.internal.connection.ConnectionState;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembersView;
import dev.sluice.redis.internal.connection.MembershipConfig;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A fleet, its load and its faults, all determined by a seed. */
final class OutageSimulation extends SimulatedFleet<SimulatedNode> {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long AFTERWARDS = 3 * SECOND;
  private static final long QUIET = 20 * SECOND;
  private static final long SATURATED = 4 * SECOND;

  /** How long a member may be wrong about Redis after its clock was set. */
  private static final long STEP_CONFUSION = 2 * SECOND;

  /** Rounding of times to microseconds, and of doubles. */
  private static final double NEGLIGIBLE_TOKENS = 0.05;

  private final Plan plan;
  private final Random random;
  private final Map<Target, Ledger> ledgers = new LinkedHashMap<>();

  /** The grants of nodes for which Redis need not have reserved a share, too. */
  private final Map<Target, Ledger> everything = new LinkedHashMap<>();

  private final List<Breach> breaches = new ArrayList<>();
  private final Load load;

  /** When the clock of Redis was set, if nothing has run since; else negative. */
  private long steppedNanos = -1;

  /**
   * A fault after which more is granted: one capacity and what comes in a time.
   *
   * @param nanos when it happened
   * @param alsoNanos the time whose refill is allowed besides
   * @param untilNanos when its effects end
   */
  private record Breach(long nanos, long alsoNanos, long untilNanos) {}

  OutageSimulation(long seed, Plan plan, RedisScripts scripts, boolean verbose) {
    super(scripts, new Random(seed * 7 + 2), plan.faults(), verbose);
    this.plan = plan;
    this.random = new Random(seed * 7 + 1);
    this.load = new Load(this, plan.lonely(), new Random(seed * 7 + 3));
    for (Target target : targets()) {
      ledgers.put(target, new Ledger());
      everything.put(target, new Ledger());
    }
  }

  // ---- parts

  List<Target> targets() {
    return plan.settings().targets();
  }

  /** Returns whether this is the time of the faults. */
  boolean isTroubled() {
    return scheduler().nanos() > Plan.WARM_UP && scheduler().nanos() < plan.endNanos();
  }

  // ---- faults

  @Override
  protected SimulatedNode newNode(int number) {
    double speed = 1 + plan.clockError() * (2 * random.nextDouble() - 1);
    SimulatedNode node =
        new SimulatedNode(scheduler(), server(), random, "node" + number, speed, plan.settings());
    load.begin(node);
    return node;
  }

  @Override
  protected void step(long micros) {
    super.step(micros);
    steppedNanos = scheduler().nanos();
  }

  @Override
  protected void lostData() {
    long now = scheduler().nanos();
    breaches.add(new Breach(now, 0, now));
  }

  // ---- what happens

  @Override
  protected void ran(Request request, @Nullable List<Object> answer, @Nullable Throwable failure) {
    if (steppedNanos >= 0) {
      long until = scheduler().nanos() + STEP_CONFUSION;
      breaches.add(new Breach(steppedNanos, STEP_CONFUSION, until));
      steppedNanos = -1;
    }
    note(() -> describe(request, answer, failure));
    if (request.script() == FleetConnection.HEARTBEAT) {
      checkShares();
    }
  }

  void granted(SimulatedNode node, Target target, long tokens) {
    boolean isLocal = node.decidesLocally();
    boolean isUnreserved = isLocal && memberships().isUnreserved(node);
    note(
        () ->
            node
                + (isUnreserved ? " is cut off," : "")
                + (isLocal ? " grants by itself " : " is granted ")
                + tokens
                + " of "
                + target.name());
    double counted = isLocal ? tokens / Math.max(1, node.speed()) : tokens;
    long slack =
        isLocal ? Math.abs(node.connection().serverNanos() - server().micros() * 1_000) : 0;
    long at = node.decidedNanos();
    Ledger.Grant grant =
        new Ledger.Grant(at, server().microsAt(at) * 1_000, counted, slack, node.name());
    everything.get(target).add(grant);
    if (!isUnreserved) {
      ledgers.get(target).add(grant);
    }
  }

  /** No moment at which nodes believe to have more than the whole. */
  private void checkShares() {
    long sum = 0;
    for (SimulatedNode node : nodes()) {
      if (node.isAlive() && !node.isLeaving() && !memberships().isUnreserved(node)) {
        sum += node.share();
      }
    }
    if (sum > MembershipConfig.PARTS) {
      throw new AssertionError(
          "at %.3f s nodes hold more than the whole: %s"
              .formatted(scheduler().nanos() / 1e9, nodes()));
    }
  }

  // ---- the run

  /** Runs until all faults have begun, and a little longer, and checks every window. */
  void run() {
    begin();
    runUntil(plan.endNanos() + AFTERWARDS);
    checkWindows();
  }

  /** Has nodes join, and faults wait for their time. */
  void begin() {
    begin(plan.nodes());
  }

  void runUntil(long nanos) {
    scheduler().runUntil(nanos);
  }

  Load load() {
    return load;
  }

  Ledger ledger(Target target) {
    return ledgers.get(target);
  }

  /** Returns by how much the worst window exceeds so many times a limit, whoever granted it. */
  double excessOf(Target target, double times) {
    return everything
        .get(target)
        .worstWindow(times * target.capacity(), times * target.perNano(), 0, Long.MAX_VALUE)
        .excess();
  }

  void checkWindows() {
    for (Target target : targets()) {
      Ledger ledger = ledgers.get(target);
      double allowed = 0;
      long from = 0;
      for (Breach breach : breaches) {
        check(target, ledger, from, breach.nanos, 0);
        from = breach.untilNanos;
        allowed += target.capacity() + target.perNano() * breach.alsoNanos;
      }
      check(target, ledger, from, Long.MAX_VALUE, 0);
      check(target, ledger, 0, Long.MAX_VALUE, allowed);
    }
  }

  private void check(Target target, Ledger ledger, long from, long to, double allowed) {
    Ledger.Worst worst =
        target.isStrict()
            ? ledger.worstPeriod(target.capacity(), target.periodNanos(), from, to)
            : ledger.worstWindow(target.capacity(), target.perNano(), from, to);
    if (worst.excess() > allowed + NEGLIGIBLE_TOKENS) {
      throw new AssertionError(
          "%s: %.2f tokens more than allowed from %.3f s to %.3f s"
              .formatted(
                  target,
                  worst.excess() - allowed,
                  worst.fromNanos() / 1e9,
                  worst.toNanos() / 1e9));
    }
  }

  /** Checks that all nodes are back 20 s after the last fault, and that the limit is used. */
  void checkLiveness() {
    load.rest();
    // A fault may last for a while after it began.
    scheduler().runUntil(plan.endNanos() + 2 * QUIET);
    for (SimulatedNode node : nodes()) {
      if (node.isAlive() && !node.isLeaving()) {
        MembersView view = node.connection().view();
        assertThat(node.connection().state()).as("%s", node).isEqualTo(ConnectionState.CONNECTED);
        assertThat(view).isNotNull();
        assertThat(view.absent()).as("absent parts").isZero();
      }
    }
    load.saturate();
    long from = scheduler().nanos() + SECOND;
    scheduler().runUntil(from + SATURATED);
    Target target = targets().get(0);
    double perNano =
        targets().stream()
            .filter(each -> each.equals(target) || each.kind() == Target.Kind.KEY)
            .filter(each -> target.kind() == Target.Kind.KEY || each.equals(target))
            .mapToDouble(Target::perNano)
            .min()
            .orElseThrow();
    double due = perNano * SATURATED;
    if (target.isStrict()) {
      due -= target.capacity();
    }
    assertThat(ledgers.get(target).between(from, from + SATURATED, any -> true))
        .as("tokens of %s in %d s", target, SATURATED / SECOND)
        .isGreaterThanOrEqualTo(Math.floor(0.95 * due) - 1);
  }
}
