package dev.sluice.governor.redis.simulation;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.redis.simulation.Callers.Call;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Simulates callers that move: they cancel their waits, return or not, and continue at any living
 * node with a wait, a poll or a cancellation. With a key they ask their node again, also after a
 * grant. They settle anywhere, or cancel the ticket of their grant.
 */
final class RestlessCallers {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long MISSED_NANOS = TimeUnit.SECONDS.toNanos(4);

  private final GovernorSimulation simulation;
  private final Callers callers;
  private final GovernorPlan plan;
  private final Random random;

  RestlessCallers(
      GovernorSimulation simulation, Callers callers, GovernorPlan plan, Random random) {
    this.simulation = simulation;
    this.callers = callers;
    this.plan = plan;
    this.random = random;
  }

  /** Returns whether the next caller is restless. */
  boolean isNext() {
    return plan.restless() && random.nextInt(3) == 0;
  }

  boolean settlesElsewhere() {
    return plan.restless() && random.nextInt(4) == 0;
  }

  private void later(long nanos, Runnable work) {
    simulation.scheduler().after(nanos, work);
  }

  private GovernorNode any() {
    return simulation.node(random.nextInt(8));
  }

  // ---- tickets

  /** Handles the answer that a caller waits. */
  void queued(Call call) {
    String ticket = call.ticket;
    if (ticket != null && call.isKeyed() && !call.hasEnded()) {
      await(call, call.node, ticket);
    } else if (call.steps == 0) {
      step(call);
    } else {
      stepLater(call);
    }
  }

  /** Does the next step with a ticket after a while, seldom longer than the idle timeout. */
  void stepLater(Call call) {
    int most = List.of(5, 300, 300, 2_500, 2_500, 7_000).get(random.nextInt(6));
    later(random.nextInt(most) * MILLI, () -> step(call));
  }

  private void step(Call call) {
    String ticket = call.ticket;
    if (ticket == null || call.hasEnded()) {
      return;
    }
    boolean mayStay = call.isKeyed() || (random.nextInt(2) == 0 && !call.node.isOut());
    GovernorNode node = call.node.isAlive() && mayStay ? call.node : any();
    call.node = node;
    call.nodes.add(node);
    int chosen = callers.rests() ? 0 : random.nextInt(12);
    if (call.isKeyed()) {
      callers.ask(call, node);
    } else if (chosen < 7) {
      await(call, node, ticket);
    } else if (chosen < 10) {
      poll(call, node, ticket);
    } else if (chosen < 11) {
      callers.cancel(call);
    } else {
      callers.end(call);
    }
  }

  private void poll(Call call, GovernorNode node, String ticket) {
    stepIfNodeDies(call, node);
    callers.react(node.store().poll(ticket), call, node);
  }

  private void await(Call call, GovernorNode node, String ticket) {
    stepIfNodeDies(call, node);
    CompletableFuture<Optional<TokenDecision>> wait = node.store().await(ticket);
    callers.react(wait, call, node);
    later(random.nextInt(3_000) * MILLI, () -> leave(call, node, wait));
  }

  private void stepIfNodeDies(Call call, GovernorNode node) {
    int step = ++call.steps;
    later(
        MISSED_NANOS,
        () -> {
          if (call.steps == step && !node.isAlive()) {
            step(call);
          }
        });
  }

  private void leave(
      Call call, GovernorNode node, CompletableFuture<Optional<TokenDecision>> wait) {
    if (node.isAlive() && !callers.rests() && wait.cancel(false)) {
      simulation.note(() -> call + " stops waiting");
      if ((node.isOut() || random.nextInt(4) == 0) && !call.isKeyed()) {
        step(call);
      } else {
        stepLater(call);
      }
    }
  }

  // ---- grants

  /** Returns the additional time of a call: some last longer than the idle timeout. */
  long longerNanos(Call call) {
    boolean isLonger = call.behavior == Callers.Behavior.RESTLESS && random.nextInt(4) == 0;
    return isLonger ? GovernorPlan.IDLE_TIMEOUT.toNanos() + random.nextInt(3_000) * MILLI : 0;
  }

  /** Ends a grant, now or after its caller has asked for it again. */
  void end(Call call, CallerLedger.Grant grant, Runnable settle) {
    String ticket = call.ticket;
    boolean asksAgain =
        call.behavior == Callers.Behavior.RESTLESS && call.isKeyed() && call.nodes.size() == 1;
    if (asksAgain) {
      grant.askedAgain = true;
      askAgain(call, grant, random.nextInt(4), settle);
    } else if (plan.restless()
        && ticket != null
        && CallerLedger.idIn(ticket).equals(grant.id)
        && random.nextInt(6) == 0) {
      cancelGrant(ticket, grant);
    } else {
      settle.run();
    }
  }

  /** Asks again as after a lost answer: the key finds the grant as long as that is open. */
  private void askAgain(Call call, CallerLedger.Grant grant, int times, Runnable settle) {
    GovernorNode node = grant.node;
    if (times == 0 || callers.rests() || !node.isAlive() || call.nodes.size() > 1) {
      grant.askedAgain = false;
      settle.run();
      return;
    }
    simulation.note(() -> call + " asks again for " + grant.reservation);
    var unused =
        node.store()
            .request(call.request)
            .whenComplete(
                (outcome, failure) -> {
                  if (outcome instanceof TokenDecision.Granted) {
                    callers.received(call, node, outcome);
                  } else if (outcome instanceof TokenDecision.Queued) {
                    simulation.fail("TWICE " + call + " is queued again, and has " + grant);
                  }
                  later(
                      random.nextInt(3_000) * MILLI,
                      () -> askAgain(call, grant, times - 1, settle));
                });
  }

  /** Cancels the ticket of an unused grant at any node. */
  private void cancelGrant(String ticket, CallerLedger.Grant grant) {
    if (grant.closedNanos < Long.MAX_VALUE) {
      return;
    }
    GovernorNode node = any();
    boolean ofShare = grant.local && node == grant.node && node.isOut();
    grant.closedNanos = simulation.scheduler().nanos();
    grant.closedAt = node;
    simulation.note(() -> "return of " + grant.reservation + " at " + node);
    var unused =
        node.store()
            .cancel(ticket)
            .whenComplete(
                (done, failure) -> {
                  simulation.note(
                      () ->
                          "returned " + grant.reservation + ": " + (done == null ? failure : done));
                  if (ofShare && failure == null && done) {
                    grant.reportedRefund = grant.tokens;
                  }
                });
  }
}
