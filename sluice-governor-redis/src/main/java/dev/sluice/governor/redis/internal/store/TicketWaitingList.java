package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.internal.connection.RedisFailure;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Tickets that callers of this node wait for. Thread-safe. */
final class TicketWaitingList {
  /*
   * A waiter receives the decision in one of three ways: with the reply to a call of this node, by a notice about a call
   * of another node, or by a check (WaitingListChecks).
   * During an outage LocalShareStore decides about tickets of known place; the others wait for Redis. Only a node that
   * has claimed a grant may deliver it: after a reply or a poll that has the claim. A waiter is added, and a call about it
   * numbered, under this object's lock: Redis ignores calls with lower numbers, and waiters the replies to calls with
   * lower numbers. Futures complete on a thread of the timer.
   */

  private static final int TENANT_AT = 6; // in the reply of a grant
  private static final int KEY_AT = 7;

  // Set again for a later deadline, whose waiters may leave much earlier.
  private static final long LONGEST_TIMER_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final ModelScripts scripts;
  private final ReplyMapper replies;
  private final StoreTimer timer;
  private final OutageModelStore outage;
  private final WakeUpTimer deadlines;
  private final TicketWaiters waiters = new TicketWaiters();
  private final TicketLeaves leaves;
  private final WaitingListChecks checks;
  private volatile boolean closed;

  TicketWaitingList(
      ModelScripts scripts,
      ReplyMapper replies,
      StoreTimer timer,
      LongSupplier spreadNanos,
      OutageModelStore outage) {
    this.outage = outage;
    this.scripts = scripts;
    this.replies = replies;
    this.timer = timer;
    this.leaves = new TicketLeaves(scripts);
    this.checks = new WaitingListChecks(scripts, timer, spreadNanos, waiters, this::update);
    this.deadlines = new WakeUpTimer(timer, this::expireOverdue);
  }

  /** Returns the state of a ticket, and claims its grant. */
  CompletableFuture<Optional<TokenDecision>> poll(String id) {
    return scripts
        .call(GovernorScript.TICKET, "poll", id)
        .thenApply(answer -> outcome(answer.result()));
  }

  private Optional<TokenDecision> outcome(ScriptReply reply) {
    if (reply.kind() == 'n') {
      return Optional.empty();
    }
    TokenDecision outcome = replies.outcome(reply, scripts.config());
    if (outcome instanceof TokenDecision.Granted granted) {
      outage.granted(granted, reply.text(TENANT_AT), ReplyMapper.keyOf(reply.text(KEY_AT)));
    }
    return Optional.of(outcome);
  }

  CompletableFuture<Optional<TokenDecision>> await(String id) {
    CompletableFuture<Optional<TokenDecision>> waiter = new CompletableFuture<>();
    synchronized (this) {
      TicketWaiters.WaitingTicket waiting = waiters.add(id, waiter);
      if (!outage.local().await(replies.ticket(id))) {
        long sequence = waiters.nextSequence();
        waiting.registration =
            scripts
                .call(GovernorScript.TICKET, "await", id, Long.toString(sequence))
                .handle(
                    (answer, failure) -> {
                      answered(id, sequence, waiter, answer, failure);
                      return true;
                    });
      }
    }
    var unused =
        waiter.whenComplete(
            (outcome, failure) -> {
              if (failure != null) {
                leave(id, waiter);
              }
            });
    return waiter;
  }

  private void answered(
      String id,
      long sequence,
      CompletableFuture<Optional<TokenDecision>> waiter,
      @Nullable ScriptResult answer,
      @Nullable Throwable failure) {
    if (answer != null) {
      update(id, answer.result(), answer.micros(), sequence);
    } else if (failure != null && !RedisFailure.isUnavailable(failure)) {
      timer.execute(() -> waiter.completeExceptionally(failure));
    } else {
      checks.retry();
    }
    if (closed) {
      end(id);
    }
  }

  /** Stops waiting for a ticket; its idle timer starts. */
  private synchronized void leave(String id, CompletableFuture<Optional<TokenDecision>> waiter) {
    TicketWaiters.WaitingTicket left = waiters.remove(id, waiter);
    if (left != null && !closed) {
      outage.local().leave(replies.ticket(id));
      leaves.leave(id, waiters.nextSequence(), isUndelivered(id, left));
    }
  }

  /** Returns whether no caller has a grant: the ticket was waiting when the last caller came. */
  private boolean isUndelivered(String id, TicketWaiters.WaitingTicket left) {
    return left.place != null || !outage.isOpen(id);
  }

  /** Sends again which tickets no caller waits for any more. */
  CompletableFuture<Void> sendLeaves() {
    // A caller may wait again, or have the grant.
    return leaves.sendAgain(id -> isAwaited(id) || outage.isOpen(id));
  }

  /** Handles the reply to a call with that number about an awaited ticket, at a time of Redis. */
  private void update(String id, ScriptReply reply, long micros, long sequence) {
    if (reply.kind() == 'o') {
      return; // a later call of this node came first
    }
    Optional<TokenDecision> outcome =
        reply.kind() == 'n'
            ? Optional.empty()
            : Optional.of(replies.outcome(reply, scripts.config()));
    if (outcome.orElse(null) instanceof TokenDecision.Queued) {
      TicketWaiters.WaitingTicket waiting = waiters.find(id);
      if (waiting != null) {
        waiting.setPlace(
            replies.place(reply, timer.nanoTime()), ReplyMapper.askedMicros(reply, micros));
        watchDeadline(id, reply);
      }
    } else {
      boolean granted = outcome.orElse(null) instanceof TokenDecision.Granted;
      deliver(
          id,
          sequence,
          outcome,
          granted ? reply.text(TENANT_AT) : "",
          granted ? ReplyMapper.keyOf(reply.text(KEY_AT)) : null);
    }
  }

  /** Delivers a decision; returns false if no caller waits for it any more. */
  private boolean deliver(
      String id,
      long sequence,
      Optional<TokenDecision> outcome,
      String tenant,
      @Nullable String key) {
    TicketWaiters.WaitingTicket waiting;
    synchronized (this) { // for unclaim: a grant is either awaited or known here
      waiting = waiters.take(id, sequence);
      if (waiting != null && outcome.orElse(null) instanceof TokenDecision.Granted granted) {
        outage.granted(granted, tenant, key);
      }
    }
    if (waiting == null) {
      return false;
    }
    timer.execute(() -> waiting.complete(outcome, () -> undelivered(id)));
    return true;
  }

  /** Returns the awaited tickets whose places are known, the oldest first. */
  List<StoreSnapshot.OpenTicket> places() {
    return waiters.places();
  }

  boolean isAwaited(String id) {
    return waiters.find(id) != null;
  }

  /** Delivers a decision of this node's share. */
  void decidedLocally(String id, TokenDecision outcome) {
    TicketWaiters.WaitingTicket waiting = waiters.take(id);
    if (waiting != null) {
      timer.execute(() -> waiting.complete(Optional.of(outcome), () -> outage.unclaim(id)));
    } else {
      // The caller has just left. Not here, where locks may be held.
      timer.execute(() -> undeliveredLocally(id));
    }
  }

  /** Undoes the claim of the share, unless a caller has the grant that Redis made meanwhile. */
  private void undeliveredLocally(String id) {
    if (!outage.isOpen(id)) {
      outage.local().undelivered(replies.ticket(id));
    }
  }

  /** Orders tickets of the share, which Redis decides after their report, by the Redis clock. */
  void reported(List<StoreSnapshot.OpenTicket> made) {
    for (StoreSnapshot.OpenTicket place : made) {
      TicketWaiters.WaitingTicket waiting = waiters.find(ReplyMapper.idIn(place.id()));
      if (waiting != null) {
        long asked = scripts.serverNanos() - (timer.nanoTime() - place.since());
        waiting.setPlace(place, TimeUnit.NANOSECONDS.toMicros(asked));
      }
    }
  }

  /** Undoes the claim of a grant whose waiters had left; a later poll may claim it. */
  void undelivered(String id) {
    outage.undelivered(id);
    unclaim(id);
  }

  /** Unclaims a grant, unless a caller of this node has it or waits for it. */
  private synchronized void unclaim(String id) {
    if (!closed && !isAwaited(id) && !outage.isOpen(id)) {
      leaves.leave(id, waiters.nextSequence(), true);
    }
  }

  private void watchDeadline(String id, ScriptReply reply) {
    long micros = reply.number(9);
    if (micros > 0) {
      waiters.setDeadline(id, timer.nanoTime() + TimeUnit.MICROSECONDS.toNanos(micros));
      awaitDeadlines();
    }
  }

  private void awaitDeadlines() {
    Long first = waiters.firstDeadline();
    if (first != null && !closed) {
      deadlines.by(Math.min(LONGEST_TIMER_NANOS, Math.max(0, first - timer.nanoTime())));
    }
  }

  private void expireOverdue() {
    if (!closed) {
      waiters.overdue(timer.nanoTime()).forEach(this::expire);
      awaitDeadlines();
    }
  }

  /** Ends the wait for a ticket by a decision of Redis or of the share; without both, denies it. */
  private void expire(String id) {
    if (outage.local().await(replies.ticket(id))) {
      return;
    }
    claim(
        id,
        () -> {
          refuse(id, TokenDecision.Reason.TIMEOUT);
          // Redis may have granted it.
          outage.outbox().cancel(id, false);
        });
  }

  private boolean refuse(String id, TokenDecision.Reason reason) {
    return refuse(id, place -> replies.refused(place, reason, scripts.config()));
  }

  /** Denies a ticket of known place; returns whether callers waited for it. */
  private boolean refuse(String id, Function<StoreSnapshot.OpenTicket, TokenDecision> decision) {
    TicketWaiters.WaitingTicket waiting = waiters.find(id);
    StoreSnapshot.OpenTicket place = waiting == null ? null : waiting.place;
    return place != null
        && deliver(id, Long.MAX_VALUE, Optional.of(decision.apply(place)), "", null);
  }

  /** Denies all tickets that are known to be waiting. */
  void refuseAll(TokenDecision.Reason reason) {
    waiters.ids().forEach(id -> refuse(id, reason));
  }

  /** Cancels a ticket without Redis; returns false if no caller waits for it here. */
  boolean cancelled(String id) {
    boolean awaited = waiters.find(id) != null;
    refuse(id, TokenDecision.Reason.CANCELLED);
    return awaited;
  }

  /** Receives the result of a call of this node. */
  void received(ScriptResult answer) {
    answer.forEachDecision(this::received);
    checks.received(answer.waiting() > 0, answer.waitMicros());
  }

  private void received(ScriptResult.TicketDecision decision) {
    String id = decision.id();
    if (decision.claimed() && decision.granted() && waiters.find(id) == null) {
      unclaim(id);
    } else if (!decision.granted() || (decision.claimed() && !leaves.isLeaving(id))) {
      deliver(
          id,
          Long.MAX_VALUE,
          Optional.of(replies.outcome(decision, scripts.config())),
          decision.tenant(),
          ReplyMapper.keyOf(decision.key()));
    } else {
      claim(id);
    }
  }

  /** Receives a notice about a call of another node: the time of the next check, and ids. */
  void received(String message) {
    if (closed) {
      return;
    }
    String[] parts = message.split(" ", -1);
    for (int i = 1; i < parts.length; i++) {
      int sign = parts[i].indexOf('=');
      if (parts[i].endsWith("+")) {
        outage.extended(parts[i].substring(0, parts[i].length() - 1));
      } else if (sign < 0) {
        claim(parts[i]);
      } else if (sign == parts[i].length() - 1) {
        outage.ended(parts[i].substring(0, sign));
      } else {
        refused(parts[i].substring(0, sign), parts[i].substring(sign + 1));
      }
    }
    long micros = Long.parseLong(parts[0]);
    if (micros >= 0) {
      // Never false here: a notice may be older than the last reply.
      checks.received(true, micros);
    }
  }

  /** Handles a denial by Redis: while the share decides, only a cancellation counts. */
  private void refused(String id, String reason) {
    boolean cancelled = reason.equals(TokenDecision.Reason.CANCELLED.name());
    if ((cancelled || !outage.local().await(replies.ticket(id)))
        && refuse(id, place -> replies.refused(place, reason, scripts.config()))
        && cancelled) {
      outage.cancel(id);
    }
  }

  /** Claims a grant for the waiters, if there are any, and then delivers it. */
  private void claim(String id) {
    claim(id, checks::retry);
  }

  private synchronized void claim(String id, Runnable unanswered) {
    if (waiters.find(id) == null) {
      return;
    }
    long sequence = waiters.nextSequence();
    var unused =
        scripts
            .call(GovernorScript.TICKET, "claim", id, Long.toString(sequence))
            .whenComplete(
                (answer, failure) -> {
                  if (answer == null) {
                    unanswered.run();
                  } else {
                    update(id, answer.result(), answer.micros(), sequence);
                  }
                });
  }

  /** Checks the waiting list now. */
  void check() {
    checks.check();
  }

  /** Fails all waiters, after the calls about new ones were answered or timed out. */
  void close(Duration timeout) {
    closed = true;
    checks.close();
    waiters
        .registrations()
        .handle((done, failure) -> true)
        .completeOnTimeout(false, timeout.toNanos(), TimeUnit.NANOSECONDS)
        .join();
    waiters.ids().forEach(this::close);
  }

  private synchronized void close(String id) {
    TicketWaiters.WaitingTicket left = waiters.find(id);
    if (left != null) {
      boolean undelivered = isUndelivered(id, left);
      end(id);
      // An answer that is under way may have claimed its grant.
      leaves.leave(id, waiters.nextSequence(), undelivered);
    }
  }

  private void end(String id) {
    refuse(id, TokenDecision.Reason.CLOSED);
    TicketWaiters.WaitingTicket unseen = waiters.take(id);
    if (unseen != null) {
      RuntimeException failure = new StoreClosedException(RedisBudgetStore.CLOSED);
      timer.execute(() -> unseen.futures.forEach(each -> each.completeExceptionally(failure)));
    }
  }
}
