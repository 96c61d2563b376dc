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
 * Callers of all nodes: from idle to three times the rate, and bursts that take whatever there is.
 * They wait, poll, cancel, walk away, ask again under a key, and settle all, a part or only at the
 * end, at the node that granted or at another.
 */
final class Callers {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final List<String> TENANTS = List.of("a", "b", "c");
  private static final int BURST_REQUESTS = 10;

  /** Callers stay away while so many wait: a longer line shows nothing more, and costs time. */
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
  enum Patience {
    AWAITS,
    POLLS,
    CANCELS,
    WALKS_AWAY,
    /** Cancels its waits, comes back or not, and goes from node to node. */
    RESTLESS
  }

  /** One request, and what became of it. */
  static final class Call {
    final int number;
    final TokenRequest request;
    final Patience patience;
    final long askedNanos;
    final Set<GovernorNode> nodes = new HashSet<>();
    final List<CallerLedger.Grant> grants = new ArrayList<>();

    /** Where it waits now. */
    GovernorNode node;

    @Nullable String ticket;

    /** When it was told its place; 0 for never. */
    long queuedNanos;

    /** Whether the share of its node gave it that place. */
    boolean queuedLocally;

    /** When it was told that it gets nothing, or gave up. */
    long endedNanos = Long.MAX_VALUE;

    /** When it canceled its ticket: what it is granted from then on is given back. */
    long canceledNanos = Long.MAX_VALUE;

    /** Whether it has no answer yet. */
    boolean unanswered;

    /** How often a restless caller has done something about its ticket. */
    int steps;

    Call(int number, GovernorNode node, TokenRequest request, Patience patience, long nanos) {
      this.number = number;
      this.node = node;
      this.request = request;
      this.patience = patience;
      this.askedNanos = nanos;
      nodes.add(node);
    }

    boolean isKeyed() {
      return request.idempotencyKey() != null;
    }

    boolean isGranted() {
      return !grants.isEmpty();
    }

    boolean isOver() {
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

  /** From now on callers want nothing new. */
  void rest() {
    rests = true;
  }

  boolean rests() {
    return rests;
  }

  /** From now on callers want more than there is, and settle at once. */
  void saturate() {
    rests = false;
    saturates = true;
  }

  // ---- asking

  /** Has callers at a node. */
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
    Patience patience =
        saturates
            ? Patience.AWAITS
            : switch (random.nextInt(12)) {
              case 0 -> Patience.POLLS;
              case 1 -> Patience.CANCELS;
              case 2 -> Patience.WALKS_AWAY;
              default -> Patience.AWAITS;
            };
    boolean isRestless = !saturates && restless.isNext();
    patience = isRestless ? Patience.RESTLESS : patience;
    long tokens =
        saturates
            ? plan.size()
            : patience == Patience.AWAITS ? plan.tokens(random) : plan.size() + calls.size();
    TokenRequest request =
        TokenRequest.of(GovernorPlan.MODEL, tokens)
            .withPriorityClass(
                GovernorPlan.CLASSES.get(random.nextInt(GovernorPlan.CLASSES.size())))
            .withTenant(TENANTS.get(random.nextInt(TENANTS.size())));
    if (random.nextInt(4) == 0) {
      request = request.withIdempotencyKey("key" + calls.size());
      patience = isRestless ? patience : Patience.AWAITS;
    }
    Call call = new Call(calls.size(), node, request, patience, simulation.scheduler().nanos());
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
                  told(call, node, outcome.orElse(null));
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
    } else if (call.patience == Patience.RESTLESS) {
      restless.goOnLater(call);
    }
  }

  /** Under a key a caller asks until it knows. */
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
    if (!call.isOver()) {
      call.endedNanos = simulation.scheduler().nanos();
      waiting--;
    }
  }

  /** Returns whether every caller knows what became of its request. */
  boolean areTold() {
    return calls.stream().allMatch(call -> call.isOver() || !call.node.isAlive());
  }

  // ---- being told

  void told(Call call, GovernorNode node, @Nullable TokenDecision outcome) {
    simulation.note(() -> call + " is told at " + node + ": " + describe(outcome));
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
    switch (call.patience) {
      case POLLS -> later((100 + random.nextInt(600)) * MILLI, () -> poll(call));
      case WALKS_AWAY -> end(call);
      case RESTLESS -> restless.queued(call);
      default -> {
        if (!known || call.isKeyed()) {
          await(call, node, ticket);
        }
        if (call.patience == Patience.CANCELS) {
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
          if (!node.isAlive() && !call.isOver()) {
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
    if (ticket == null || call.isOver()) {
      return;
    }
    GovernorNode node = call.node.isAlive() ? call.node : simulation.node(random.nextInt(8));
    var unused =
        node.store()
            .poll(ticket)
            .whenComplete(
                (outcome, failure) -> {
                  if (failure == null) {
                    told(call, node, outcome.orElse(null));
                  } else {
                    later((100 + random.nextInt(600)) * MILLI, () -> poll(call));
                  }
                });
  }

  void cancel(Call call) {
    String ticket = call.ticket;
    if (ticket != null && !call.isOver()) {
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
      simulation.fail(call + " is told of the grant of another call: " + known.reservation);
    }
    if (known != null && !simulation.isAnother(node, known)) {
      return;
    }
    CallerLedger.Grant grant = simulation.granted(node, call, granted);
    grant.isSecond = known != null;
    ledger.add(grant);
    boolean unwanted = call.endedNanos < Long.MAX_VALUE;
    waiting -= call.isOver() ? 0 : 1;
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
                grant.toldRefund = settlement.get().refundedTokens();
              } else if (failure == null) {
                simulation.unknownGrant(grant);
              }
            });
  }
}
