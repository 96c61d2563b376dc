package dev.sluice.governor.redis.simulation;

import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.redis.SimulatedGovernor;
import dev.sluice.redis.internal.connection.ConnectionState;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.redis.simulation.RedisScripts;
import dev.sluice.redis.simulation.Request;
import dev.sluice.redis.simulation.SimulatedFleet;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A fleet of governors, their callers and their faults, all determined by a seed. */
final class GovernorSimulation extends SimulatedFleet<GovernorNode> {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long RETURN = 6 * SECOND;
  private static final long LONGEST_LAG = 150 * SECOND / 1_000;
  private static final long LONGEST_DRAIN = 60 * SECOND;
  private static final long SATURATED = 4 * SECOND;

  /** Rounding of times to microseconds, of tokens to whole ones at a refund, and of doubles. */
  private static final double NEGLIGIBLE_TOKENS = 1;

  private static final Pattern ID = Pattern.compile("([0-9a-f]{10}-)?([0-9a-f]{32})");

  /** The name of a node, and the generation of the state that it knows, which is random. */
  private static final Pattern NODE = Pattern.compile("node0{11}(\\d)\\d*");

  private final GovernorPlan plan;
  private final Random random;
  private final Random lags;
  private final RedisDecisions redis = new RedisDecisions();
  private final CallerLedger ledger = new CallerLedger();
  private final Callers callers;
  private final List<String> failures = new ArrayList<>();
  private final List<Long> lostNanos = new ArrayList<>();
  private final Map<String, String> shortIds = new HashMap<>();

  /** Whether no slot is left at the end. */
  private boolean full;

  private boolean reloaded;

  GovernorSimulation(long seed, GovernorPlan plan, RedisScripts scripts, boolean verbose) {
    super(scripts, new Random(seed * 7 + 2), plan.faults(), verbose);
    this.plan = plan;
    this.random = new Random(seed * 7 + 1);
    this.lags = new Random(seed * 7 + 9);
    this.callers =
        new Callers(this, plan, ledger, new Random(seed * 7 + 3), new Random(seed * 7 + 6));
  }

  @Override
  protected GovernorNode newNode(int number) {
    double speed = 1 + plan.clockError() * (2 * random.nextDouble() - 1);
    GovernorNode node =
        new GovernorNode(scheduler(), server(), random, number, speed, plan, this::lagNanos);
    serveOnceOpen(node, scheduler().nanos() + 3 * SECOND);
    return node;
  }

  /** Returns the delay of a callback of a waiter. */
  private long lagNanos() {
    return plan.restless() && lags.nextInt(10) == 0 ? lags.nextLong(LONGEST_LAG) : 0;
  }

  /** As a process does: it waits for Redis as it starts, but no longer than three seconds. */
  private void serveOnceOpen(GovernorNode node, long latestNanos) {
    scheduler()
        .after(
            SECOND / 100,
            node,
            () -> {
              if (node.connection().state() == ConnectionState.CONNECTED
                  || scheduler().nanos() >= latestNanos) {
                callers.begin(node);
              } else {
                serveOnceOpen(node, latestNanos);
              }
            });
  }

  /** A node that leaves waits by real time; it is killed instead. */
  @Override
  protected void leave(int index) {
    kill(index);
  }

  @Override
  protected void lostData() {
    lostNanos.add(scheduler().nanos());
  }

  @Override
  protected void ran(Request request, @Nullable List<Object> answer, @Nullable Throwable failure) {
    redis.ran(request, answer, scheduler().nanos());
    note(() -> inShort(request, answer, failure));
    if (request.script() == FleetConnection.HEARTBEAT) {
      nodes().forEach(node -> node.noteUnreserved(memberships().isUnreserved(node)));
    }
  }

  /** Configurations are long, and the generation of the state that they create is random. */
  private static String inShort(
      Request request, @Nullable List<Object> answer, @Nullable Throwable failure) {
    return String.valueOf(request.script()).equals("CONFIGURE")
        ? request.node() + " CONFIGURE " + request.arguments()[1]
        : describe(request, answer, failure);
  }

  /** Logs something with short names for tickets and reservations. */
  @Override
  protected String shortened(String line) {
    String named = NODE.matcher(line).replaceAll("node$1");
    return ID.matcher(named)
        .replaceAll(found -> shortIds.computeIfAbsent(found.group(2), id -> "#" + shortIds.size()));
  }

  void fail(String text) {
    String line = shortened(text);
    failures.add("%.3f s: %s".formatted(scheduler().nanos() / 1e9, line));
    note(() -> "FAILURE " + line);
  }

  /** Returns the first word of a failure. */
  static String kindOf(String failure) {
    return failure.split(" ", 4)[2];
  }

  List<String> failures() {
    return failures;
  }

  CallerLedger ledger() {
    return ledger;
  }

  List<Callers.Call> calls() {
    return callers.calls();
  }

  // ---- grants

  CallerLedger.Grant granted(
      GovernorNode source, Callers.Call call, TokenDecision.Granted granted) {
    long decided = redis.grantedNanos(CallerLedger.idIn(granted.reservation()));
    // A share may have decided just before the node returned.
    boolean local = source.isOut() || decided < 0;
    GovernorNode node = local ? deciderOf(source, call) : source;
    CallerLedger.Origin origin =
        !local
            ? CallerLedger.Origin.REDIS
            : memberships().isUnreserved(node)
                ? CallerLedger.Origin.UNRESERVED_SHARE
                : CallerLedger.Origin.SHARE;
    CallerLedger.Grant grant =
        new CallerLedger.Grant(
            granted.reservation(),
            node,
            granted.tokens(),
            origin,
            local ? node.decidedNanos(call) : decided,
            scheduler().nanos());
    // A grant that was reported to Redis may be of another node's share.
    grant.slotsOfNode = source.isOut() ? slotsOf(node, grant.decidedNanos) : Integer.MAX_VALUE;
    grant.share = (double) node.connection().share() / MembershipConfig.PARTS;
    note(() -> node + " grants " + granted.tokens() + " by " + origin);
    return grant;
  }

  /** A caller that moves may receive a grant of one node's share at another node. */
  private GovernorNode deciderOf(GovernorNode source, Callers.Call call) {
    return call.behavior != Callers.Behavior.RESTLESS || source.hasDecided(call)
        ? source
        : nodes().stream().filter(node -> node.hasDecided(call)).findFirst().orElse(source);
  }

  /** Returns whether a ticket that is awaited at two nodes was granted by a share and once more. */
  boolean isAnother(GovernorNode node, CallerLedger.Grant known) {
    return node != known.node
        && (node.isOut() || (known.local && redis.grantedNanos(known.id) >= known.decidedNanos));
  }

  /**
   * Handles a settlement at a node that does not know the grant, although it has not expired. A
   * ticket that is awaited at two nodes may be granted, and settled, twice.
   */
  void unknownGrant(CallerLedger.Grant grant) {
    boolean mayBeForgotten =
        grant.isCanceled
            || lostNanos.stream().anyMatch(lost -> lost >= grant.decidedNanos)
            || (grant.local && grant.closedAt != grant.node)
            || ledger.all().stream().anyMatch(other -> other != grant && other.id.equals(grant.id));
    if (!mayBeForgotten) {
      fail("GONE no node knows at its settlement " + grant);
    }
  }

  private int slotsOf(GovernorNode node, long nanos) {
    return (int)
        ((long) node.concurrencyAt(nanos) * node.connection().share() / MembershipConfig.PARTS);
  }

  // ---- the run

  /** Runs until all faults have ended, all grants are settled and no caller waits; then checks. */
  void run() {
    begin(plan.nodes());
    if (plan.reloadsTo() > 0) {
      reloadOnceAllAreOut();
    }
    scheduler().runUntil(plan.endNanos());
    while (troubledUntilNanos() > scheduler().nanos()) {
      scheduler().runUntil(troubledUntilNanos());
    }
    scheduler().runUntil(scheduler().nanos() + RETURN);
    callers.rest();
    if (reloaded) {
      reload(plan.concurrency());
    }
    long latest = scheduler().nanos() + LONGEST_DRAIN;
    while (!callers.haveAllDecisions() && scheduler().nanos() < latest) {
      callers.settleAll();
      scheduler().runUntil(scheduler().nanos() + SECOND);
    }
    callers.settleAll();
    scheduler().runUntil(scheduler().nanos() + GovernorPlan.IDLE_TIMEOUT.toNanos() + 3 * SECOND);
    checkWaiting();
    long end = scheduler().nanos() + GovernorPlan.IDLE_TIMEOUT.toNanos();
    while (scheduler().nanos() < end) {
      // Calls expire reservations and tickets; after a silence with a grace period.
      livingNodes().forEach(node -> ignore(node.store().status()));
      scheduler().runUntil(scheduler().nanos() + SECOND / 2);
    }
    check();
  }

  private static void ignore(CompletableFuture<?> answer) {
    var unused = answer.exceptionally(failure -> null);
  }

  private void reload(int concurrency) {
    livingNodes().forEach(node -> node.reload(concurrency));
  }

  private void reloadOnceAllAreOut() {
    if (livingNodes().stream().allMatch(node -> node.isOut() && !node.losses().isEmpty())) {
      note(() -> "RELOAD to " + plan.reloadsTo() + " calls at once");
      reloaded = true;
      reload(plan.reloadsTo());
    } else if (scheduler().nanos() < plan.endNanos()) {
      scheduler().after(SECOND / 4, this::reloadOnceAllAreOut);
    }
  }

  /** Checks every guarantee; records a failure for each that is broken. */
  void check() {
    ledger.all().forEach(grant -> grant.refunded = refunded(grant));
    checkTokens();
    checkUnreserved();
    checkSlots();
    checkKeys();
    if (!reloaded) {
      List<String> inversions = new OrderCheck(callers.calls(), redis, lostNanos).inversions();
      inversions.stream().limit(1).forEach(this::fail);
    }
    checkLeaks();
  }

  /** Returns the refund; a caller that canceled before the delivery has used no tokens. */
  private long refunded(CallerLedger.Grant grant) {
    return !grant.local && redis.isReturned(grant.id)
        ? grant.tokens
        : Math.max(grant.reportedRefund, redis.refunded(grant.id));
  }

  /** A request at one node has one grant, and none of Redis after that of the share. */
  private void checkKeys() {
    for (Callers.Call call : callers.calls()) {
      if (call.nodes.size() == 1 && call.grants.size() > 1) {
        fail("TWICE " + call + " is granted by " + call.grants);
      }
      for (CallerLedger.Grant grant : call.grants) {
        if (grant.local && redis.grantedNanosBy(grant.node.name(), grant.id) > grant.decidedNanos) {
          fail("AGAIN " + grant + " is granted again by a call of the same node to Redis");
        }
      }
    }
  }

  private void checkTokens() {
    CallerLedger.Worst worst = ledger.worstWindow((double) plan.burst(), plan.perSecond() / 1e9);
    if (worst.excess() > NEGLIGIBLE_TOKENS) {
      fail(
          "TOKENS %.1f more than allowed from %.3f s to %.3f s (burst %d, %d per second): %s"
              .formatted(
                  worst.excess(),
                  worst.fromNanos() / 1e9,
                  worst.toNanos() / 1e9,
                  plan.burst(),
                  plan.perSecond(),
                  ledger.between(worst)));
    }
  }

  /** A node that is cut off for longer than its membership grants no more than its share. */
  private void checkUnreserved() {
    for (GovernorNode node : nodes()) {
      CallerLedger.Worst worst =
          ledger.worstUnreserved(node, (double) plan.burst(), plan.perSecond() / 1e9);
      if (worst.excess() > NEGLIGIBLE_TOKENS) {
        fail("SHARE %s grants %.1f more than its share".formatted(node, worst.excess()));
      }
    }
  }

  private void checkSlots() {
    List<CallerLedger.Crowd> crowds = ledger.crowds(plan.concurrency(), lostNanos);
    if (!crowds.isEmpty()) {
      CallerLedger.Crowd first = crowds.get(0);
      fail(
          "SLOTS %d times too many, first at %.3f s: %d open, %d allowed%s, by %s: %s"
              .formatted(
                  crowds.size(),
                  first.last().decidedNanos / 1e9,
                  first.open().size(),
                  first.allowed(),
                  first.last().local ? " at " + first.last().node : "",
                  first.last().id,
                  first.open()));
    }
  }

  private List<String> openReservations() {
    List<String> open = new ArrayList<>();
    for (String field : scripts().fields(SimulatedGovernor.stateKey(GovernorPlan.MODEL))) {
      if (field.startsWith("r")) {
        open.add(field.substring(1));
      }
    }
    return open;
  }

  /** No slot is in use after every caller has settled. */
  private void checkLeaks() {
    GovernorStatus.@Nullable Model status = status();
    List<String> left = openReservations();
    left.sort(Comparator.comparing(redis::grantedNanos).thenComparing(this::shortened));
    for (String id : left) {
      CallerLedger.Grant grant = ledger.find(id);
      if (grant != null && grant.closedAt != null && !grant.closedAt.isAlive()) {
        // The node may have died before it sent the settlement.
        continue;
      }
      if (grant != null && mayBeRestored(grant)) {
        continue;
      }
      if (grant != null) {
        fail(
            "LEAK%s a slot is used by %s"
                .formatted(grant.closedAt == grant.node ? "" : "-ELSEWHERE", grant));
      } else if (!wasAskedElsewhere(redis.keyOf(id))
          && nodes().stream()
              .noneMatch(node -> !node.isAlive() && redis.concerned(id).contains(node.name()))) {
        fail("LEAK-UNDELIVERED a slot is used by " + id + ", which was delivered to no caller");
      }
    }
    if (status == null) {
      return;
    }
    if (status.running() != left.size()) {
      fail(
          "COUNT running is %d, but %d reservations are open"
              .formatted(status.running(), left.size()));
    }
    if (status.audit().errorTokens() > 0
        && ledger.all().stream().noneMatch(grant -> grant.unreserved)
        && failures.stream().noneMatch(each -> kindOf(each).equals("TOKENS"))) {
      fail("AUDIT errorTokens is " + status.audit().errorTokens() + ", but no window is exceeded");
    }
    // Grants of killed nodes have slots until they expire; leaks were reported above.
    full = left.size() >= plan.concurrency();
  }

  /** No ticket and no caller waits without a reason. */
  void checkWaiting() {
    // Read without a script, because every script grants what waits.
    if (openReservations().size() >= plan.concurrency()) {
      return;
    }
    long waiting = scripts().members(SimulatedGovernor.waitingListKey(GovernorPlan.MODEL));
    if (waiting > 0) {
      fail("QUEUE %d wait at the end".formatted(waiting));
    }
    for (Callers.Call call : callers.calls()) {
      if (call.node.isAlive() && !call.hasEnded()) {
        fail("STUCK " + call + " received no decision");
      }
    }
  }

  /**
   * Returns whether Redis lost a settlement of which the node that delivered the grant has no
   * notice: that node restores the grant.
   */
  private boolean mayBeRestored(CallerLedger.Grant grant) {
    return grant.closedAt != grant.node
        && lostNanos.stream().anyMatch(lost -> lost >= redis.settledNanos(grant.id))
        && !grant.node.wire().hasReceived(grant.id + "=");
  }

  /** Returns whether a caller asked several nodes under a key, for which nothing is guaranteed. */
  private boolean wasAskedElsewhere(String key) {
    return callers.calls().stream()
        .anyMatch(call -> key.equals(call.request.idempotencyKey()) && call.nodes.size() > 1);
  }

  private GovernorStatus.@Nullable Model status() {
    GovernorNode node = node(0);
    if (node.connection().state() != ConnectionState.CONNECTED) {
      fail("AWAY " + node + " is " + node.connection().state() + " at the end");
      return null;
    }
    CompletableFuture<GovernorStatus> status = node.store().status();
    scheduler().runUntil(scheduler().nanos() + SECOND);
    return status.join().models().get(GovernorPlan.MODEL);
  }

  /** Checks that the rate is used once all faults have ended. */
  void checkLiveness() {
    if (full) {
      return;
    }
    // The share of a node that was killed stays reserved for 11.5 s.
    scheduler().runUntil(scheduler().nanos() + 12 * SECOND);
    callers.saturate();
    scheduler().runUntil(scheduler().nanos() + SECOND);
    long from = scheduler().nanos();
    scheduler().runUntil(from + SATURATED);
    double due = plan.perSecond() * (double) SATURATED / SECOND;
    double granted = ledger.between(from, from + SATURATED);
    if (granted < 0.9 * due - plan.size()) {
      fail("RATE %.0f tokens of %.0f were granted in 4 s".formatted(granted, due));
    }
  }
}
