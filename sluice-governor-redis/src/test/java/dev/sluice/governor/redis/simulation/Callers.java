package dev.sluice.governor.redis.simulation;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.redis.RedisUnavailableException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Callers of all nodes: from idle to three times the rate, and bursts that take all tokens. They
 * wait, poll, cancel, leave, ask again under a key, and settle all, a part or only at the end, at
 * the node of the grant or at another.
 */
final class Callers {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final List<String> TENANTS = List.of("a", "b", "c");
  private static final int BURST_REQUESTS = 10;

  /** Callers send no requests while so many wait: a longer waiting list only costs time. */
  private static final int MOST_WAITING = 9;

  private final GovernorSimulation simulation;
  private final GovernorPlan plan;
  private final CallerLedger ledger;
  private final Random random;
  private final RestlessCallers restless;
  private final List<Call> calls = new ArrayList<>();
  private int waiting;
  private boolean rests;
  private boolean saturates;
  private double demand = 1;
  private boolean bursts;
  private long moodUntilNanos;

  /** The ways in which a caller uses a ticket. */
  enum Behavior {
    AWAITS,
    POLLS,
    CANCELS,
    WALKS_AWAY,
    /** Cancels its waits, returns or not, and moves from node to node. */
    RESTLESS
  }

  /** One request and its results. */
  static final class Call {
    final int number;
    final TokenRequest request;
    final Behavior behavior;
    final long askedNanos;
    final Set<GovernorNode> nodes = new HashSet<>();
    final List<CallerLedger.Grant> grants = new ArrayList<>();

    /** The node at which it waits now. */
    GovernorNode node;

    @Nullable String ticket;

    /** The time at which it received its place; 0 for never. */
    long queuedNanos;

    /** Whether the share of its node gave it that place. */
    boolean queuedLocally;

    /** The time at which it was denied or gave up. */
    long endedNanos = Long.MAX_VALUE;

    /** The time at which it canceled its ticket: later grants are returned. */
    long canceledNanos = Long.MAX_VALUE;

    /** Whether it has no answer yet. */
    boolean unanswered;

    /** The number of steps of a restless caller. */
    int steps;

    Call(int number, GovernorNode node, TokenRequest request, Behavior behavior, long nanos) {
      this.number = number;
      this.node = node;
      this.request = request;
      this.behavior = behavior;
      this.askedNanos = nanos;
      nodes.add(node);
    }

    boolean isKeyed() {
      return request.idempotencyKey() != null;
    }

    boolean isGranted() {
      return !grants.isEmpty();
    }

    boolean hasEnded() {
      return isGranted() || endedNanos < Long.MAX_VALUE;
    }

    @Override
    public String toString() {
      return "call %d (%s %s %d%s at %s)"
          .formatted(
              number,
              request.priorityClass(),
              request.tenant(),
              request.tokens(),
              isKeyed() ? " " + request.idempotencyKey() : "",
              node);
    }
  }

  Callers(
      GovernorSimulation simulation,
      GovernorPlan plan,
      CallerLedger ledger,
      Random random,
      Random restlessness) {
    this.simulation = simulation;
    this.plan = plan;
    this.ledger = ledger;
    this.random = random;
    this.restless = new RestlessCallers(simulation, this, plan, restlessness);
  }

  List<Call> calls() {
    return calls;
  }

  /** Stops new requests. */
  void rest() {
    rests = true;
  }

  boolean rests() {
    return rests;
  }

  /** Requests more than the rate from now on, and settles at once. */
  void saturate() {
    rests = false;
    saturates = true;
  }

  // ---- requests

  /** Starts the callers of a node. */
  void begin(GovernorNode node) {
    long pause = (long) (meanPauseNanos() * 2 * random.nextDouble());
    after(
        Math.min(pause, 500 * MILLI),
        node,
        () -> {
          if (!rests && demand() > 0) {
            for (int i = bursts ? 1 + random.nextInt(BURST_REQUESTS) : 1; i > 0; i--) {
              if (waiting < MOST_WAITING) {
                request(node);
              }
            }
          }
          begin(node);
        });
  }

  private double meanPauseNanos() {
    double perSecond = demand() * plan.perSecond() / (saturates ? plan.size() : plan.meanTokens());
    int each = bursts && !saturates ? BURST_REQUESTS / 2 : 1;
    return each * simulation.livingNodes().size() * 1e9 / Math.max(0.1, perSecond);
  }

  private double demand() {
    if (saturates) {
      return 1.5;
    }
    long now = simulation.scheduler().nanos();
    if (moodUntilNanos <= now) {
      moodUntilNanos = now + (500 + random.nextInt(4_000)) * MILLI;
      demand = List.of(0.0, 0.3, 0.7, 0.9, 1.2, 3.0).get(random.nextInt(6));
      bursts = random.nextInt(4) == 0;
    }
    return demand;
  }

  private void after(long nanos, GovernorNode node, Runnable work) {
    simulation.scheduler().after(nanos, node, work);
  }

  /** A caller is a process of its own: it lives on when a node dies. */
  private void later(long nanos, Runnable work) {
    simulation.scheduler().after(nanos, work);
  }

  private void request(GovernorNode node) {
    Behavior behavior =
        saturates
            ? Behavior.AWAITS
            : switch (random.nextInt(12)) {
              case 0 -> Behavior.POLLS;
              case 1 -> Behavior.CANCELS;
              case 2 -> Behavior.WALKS_AWAY;
              default -> Behavior.AWAITS;
            };
    boolean isRestless = !saturates && restless.isNext();
    behavior = isRestless ? Behavior.RESTLESS : behavior;
    long tokens =
        saturates
            ? plan.size()
            : behavior == Behavior.AWAITS ? plan.tokens(random) : plan.size() + calls.size();
    TokenRequest request =
        TokenRequest.of(GovernorPlan.MODEL, tokens)
            .withPriorityClass(
                GovernorPlan.CLASSES.get(random.nextInt(GovernorPlan.CLASSES.size())))
            .withTenant(TENANTS.get(random.nextInt(TENANTS.size())));
    if (random.nextInt(4) == 0) {
      request = request.withIdempotencyKey("key" + calls.size());
      behavior = isRestless ? behavior : Behavior.AWAITS;
    }
    Call call = new Call(calls.size(), node, request, behavior, simulation.scheduler().nanos());
    calls.add(call);
    waiting++;
    ask(call, node);
    if (call.isKeyed() && !saturates && random.nextInt(8) == 0) {
      later(random.nextInt(3_000) * MILLI, () -> askElsewhere(call));
    }
  }

  private void askElsewhere(Call call) {
    if (!call.isGranted() && !rests) {
      ask(call, simulation.node(random.nextInt(8)));
    }
  }

  void ask(Call call, GovernorNode node) {
    call.nodes.add(node);
    call.node = node;
    simulation.note(() -> call + " asks");
    long timeout = plan.timeout().toNanos();
    call.unanswered = true;
    if (call.isKeyed()) {
      later(2 * timeout + 500 * MILLI, () -> retryIfDead(call, node));
    }
    react(node.store().request(call.request).thenApply(Optional::of), call, node);
  }

  private void retryIfDead(Call call, GovernorNode node) {
    if (!node.isAlive() && call.unanswered && call.node == node) {
      ask(call, simulation.node(random.nextInt(8)));
    }
  }

  void react(CompletableFuture<Optional<TokenDecision>> answer, Call call, GovernorNode node) {
    var unused =
        answer.whenComplete(
            (outcome, failure) -> {
              try {
                if (failure == null) {
                  call.unanswered = false;
                  received(call, node, outcome.orElse(null));
                } else {
                  failed(call, node, failure);
                }
              } catch (RuntimeException | AssertionError mistake) {
                simulation.fail(call + ": " + mistake);
              }
            });
  }

  private void failed(Call call, GovernorNode node, Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof CancellationException) {
      return;
    }
    simulation.note(() -> call + " fails: " + cause);
    if (!(cause instanceof RedisUnavailableException)) {
      simulation.fail(call + " fails: " + cause);
    } else if (call.isKeyed()) {
      askAgain(call, node);
    } else if (call.ticket == null) {
      end(call);
    } else if (call.behavior == Behavior.RESTLESS) {
      restless.stepLater(call);
    }
  }

  /** Repeats a request with a key until it is decided. */
  private void askAgain(Call call, GovernorNode node) {
    call.unanswered = true;
    later(
        (300 + random.nextInt(700)) * MILLI,
        () -> {
          if (!call.isGranted()) {
            ask(call, node.isAlive() ? node : simulation.node(random.nextInt(8)));
          }
        });
  }

  void end(Call call) {
    if (!call.hasEnded()) {
      call.endedNanos = simulation.scheduler().nanos();
      waiting--;
    }
  }

  /** Returns whether every caller has the decision about its request. */
  boolean haveAllDecisions() {
    return calls.stream().allMatch(call -> call.hasEnded() || !call.node.isAlive());
  }

  // ---- decisions

  void received(Call call, GovernorNode node, @Nullable TokenDecision outcome) {
    simulation.note(() -> call + " receives at " + node + ": " + describe(outcome));
    if (outcome instanceof TokenDecision.Granted granted) {
      granted(call, node, granted);
    } else if (outcome instanceof TokenDecision.Queued queued) {
      queued(call, node, queued);
    } else if (outcome instanceof TokenDecision.Denied refused) {
      if (call.isKeyed() && refused.reason() == TokenDecision.Reason.UNAVAILABLE) {
        askAgain(call, node);
      } else {
        end(call);
      }
    } else if (outcome == null && call.isKeyed()) {
      askAgain(call, node);
    } else {
      end(call);
    }
  }

  private static String describe(@Nullable TokenDecision outcome) {
    if (outcome instanceof TokenDecision.Granted granted) {
      return "granted " + granted.tokens() + " as " + granted.reservation();
    }
    if (outcome instanceof TokenDecision.Queued queued) {
      return "number " + queued.queuePosition() + " with " + queued.ticket();
    }
    if (outcome instanceof TokenDecision.Impossible) {
      return "impossible";
    }
    return outcome instanceof TokenDecision.Denied refused ? refused.reason().name() : "nothing";
  }

  private void queued(Call call, GovernorNode node, TokenDecision.Queued queued) {
    String ticket = queued.ticket();
    boolean known = ticket.equals(call.ticket);
    call.ticket = ticket;
    if (call.queuedNanos == 0) {
      call.queuedNanos = simulation.scheduler().nanos();
      call.queuedLocally = node.isOut();
    }
    switch (call.behavior) {
      case POLLS -> later((100 + random.nextInt(600)) * MILLI, () -> poll(call));
      case WALKS_AWAY -> end(call);
      case RESTLESS -> restless.queued(call);
      default -> {
        if (!known || call.isKeyed()) {
          await(call, node, ticket);
        }
        if (call.behavior == Behavior.CANCELS) {
          later(random.nextInt(3_000) * MILLI, () -> cancel(call));
        }
      }
    }
  }

  private void await(Call call, GovernorNode node, String ticket) {
    react(node.store().await(ticket), call, node);
    later(
        (2_000 + random.nextInt(4_000)) * MILLI,
        () -> {
          if (!node.isAlive() && !call.hasEnded()) {
            simulation.note(() -> call + " waits elsewhere");
            GovernorNode other = simulation.node(random.nextInt(8));
            call.node = other;
            call.nodes.add(other);
            if (call.isKeyed()) {
              ask(call, other);
            } else {
              react(other.store().await(ticket), call, other);
            }
          }
        });
  }

  private void poll(Call call) {
    String ticket = call.ticket;
    if (ticket == null || call.hasEnded()) {
      return;
    }
    GovernorNode node = call.node.isAlive() ? call.node : simulation.node(random.nextInt(8));
    var unused =
        node.store()
            .poll(ticket)
            .whenComplete(
                (outcome, failure) -> {
                  if (failure == null) {
                    received(call, node, outcome.orElse(null));
                  } else {
                    later((100 + random.nextInt(600)) * MILLI, () -> poll(call));
                  }
                });
  }

  void cancel(Call call) {
    String ticket = call.ticket;
    if (ticket != null && !call.hasEnded()) {
      simulation.note(() -> call + " cancels");
      end(call);
      if (call.node.isAlive()) {
        call.canceledNanos = simulation.scheduler().nanos();
        var unused = call.node.store().cancel(ticket);
      }
    }
  }

  // ---- grants

  private void granted(Call call, GovernorNode node, TokenDecision.Granted granted) {
    CallerLedger.Grant known = ledger.find(granted.reservation());
    if (known != null && !call.grants.contains(known)) {
      simulation.fail(call + " receives the grant of another call: " + known.reservation);
    }
    if (known != null && !simulation.isAnother(node, known)) {
      return;
    }
    CallerLedger.Grant grant = simulation.granted(node, call, granted);
    grant.isSecond = known != null;
    ledger.add(grant);
    boolean unwanted = call.endedNanos < Long.MAX_VALUE;
    waiting -= call.hasEnded() ? 0 : 1;
    call.grants.add(grant);
    if (unwanted) {
      grant.isCanceled = call.canceledNanos < Long.MAX_VALUE;
      settle(grant, node, 0);
      grant.closedNanos = Math.min(grant.closedNanos, call.canceledNanos);
      return;
    }
    boolean never = !saturates && random.nextInt(25) == 0;
    if (!never || rests) {
      long lasts =
          saturates || rests
              ? 20 * MILLI
              : (20 + (long) (random.nextDouble() * plan.longestCallMillis())) * MILLI;
      long used = saturates ? grant.tokens : plan.used(random, grant.tokens);
      later(
          lasts + (rests ? 0 : restless.longerNanos(call)),
          () -> restless.end(call, grant, () -> settle(grant, null, used)));
    }
  }

  /** Settles what is open. */
  void settleAll() {
    for (CallerLedger.Grant grant : ledger.all()) {
      if (grant.closedNanos == Long.MAX_VALUE && !grant.isAskedFor()) {
        settle(grant, null, grant.tokens);
      }
    }
  }

  private void settle(CallerLedger.Grant grant, @Nullable GovernorNode at, long used) {
    if (grant.closedNanos < Long.MAX_VALUE) {
      return;
    }
    boolean elsewhere =
        !grant.node.isAlive() || random.nextInt(8) == 0 || restless.settlesElsewhere();
    GovernorNode node =
        at != null ? at : elsewhere ? simulation.node(random.nextInt(8)) : grant.node;
    grant.closedNanos = simulation.scheduler().nanos();
    grant.closedAt = node;
    simulation.note(() -> "settlement of " + grant.reservation + " at " + node + ", used " + used);
    CompletableFuture<Optional<TokenSettlement>> settled =
        node.store().settle(grant.reservation, used);
    var unused =
        settled.whenComplete(
            (settlement, failure) -> {
              simulation.note(
                  () ->
                      "settled "
                          + grant.reservation
                          + ": "
                          + (failure == null ? settlement : failure));
              if (failure == null && settlement.isPresent()) {
                grant.reportedRefund = settlement.get().refundedTokens();
              } else if (failure == null) {
                simulation.unknownGrant(grant);
              }
            });
  }
}
