package dev.sluice.governor.redis.store;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.connection.RedisFailure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Tickets that callers of this node wait for, and checks of the waiting list. Thread-safe. */
final class TicketWaitingList {
  /*
   * A waiter receives the decision in one of three ways: with the reply to a call of this node, by a notice about a call
   * of another node, or by a check. A check drains the waiting list at the time that the last reply or notice named, even
   * if other nodes do so too; a thorough check also polls every ticket that is awaited here, which replaces lost notices
   * and keeps the tickets from being abandoned.
   * During an outage LocalShareStore decides about tickets of known place; the others wait for Redis. Only a node that
   * has claimed a grant may deliver it: after a reply or a poll that has the claim. A waiter is added, and a call about it
   * numbered, under this object's lock: Redis ignores calls with lower numbers. Futures complete on a thread of the timer.
   */

  /** The delay before the next check when Redis does not answer. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int PORTION = 500; // tickets of a call, which must not block others

  // A node polls at most a thousand tickets a second, however often it checks.
  private static final long PER_TICKET_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final int TENANT_AT = 6; // in the reply of a grant
  private static final int KEY_AT = 7;

  // Set again for a later deadline, whose waiters may leave much earlier.
  private static final long LONGEST_TIMER_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** After longer silence the scripts assume an outage: {@code MAX_SILENCE}. */
  private static final long MAX_CHECK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long MIN_THOROUGH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int CHECKS_PER_TIMEOUT = 3;

  private final ModelScripts scripts;
  private final ReplyMapper replies;
  private final StoreTimer timer;
  private final LongSupplier spreadNanos;
  private final OutageModelStore outage;
  private final WakeUpTimer next;
  private final WakeUpTimer deadlines;
  private final TicketWaiters waiters = new TicketWaiters();

  // Guarded by this.
  private boolean hasWaiters;
  private boolean checking;
  private boolean checkAgain;
  private boolean checkedThoroughly;
  private long thoroughAt;
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
    this.spreadNanos = spreadNanos;
    this.next = new WakeUpTimer(timer, this::check);
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
        waiting.registration =
            scripts
                .call(GovernorScript.TICKET, "await", id, waiters.nextSequence())
                .handle(
                    (answer, failure) -> {
                      answered(id, waiter, answer, failure);
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
      CompletableFuture<Optional<TokenDecision>> waiter,
      @Nullable ScriptResult answer,
      @Nullable Throwable failure) {
    if (answer != null) {
      update(id, answer.result(), answer.micros());
    } else if (failure != null && !RedisFailure.isUnavailable(failure)) {
      timer.execute(() -> waiter.completeExceptionally(failure));
    } else {
      checkWithin(RETRY_NANOS);
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
      // If the ticket was waiting when this caller came, no caller of this node has its grant.
      boolean undelivered = left.place != null || !outage.isOpen(id);
      outage.outbox().leave(id, waiters.nextSequence(), undelivered ? "undelivered" : "");
    }
  }

  /** Handles the reply about an awaited ticket, at a time of Redis. */
  private void update(String id, ScriptReply reply, long micros) {
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
        boolean first = waiting.place == null;
        waiting.setPlace(
            replies.place(reply, timer.nanoTime()), ReplyMapper.askedMicros(reply, micros));
        if (first) {
          watchDeadline(id, reply);
        }
      }
    } else {
      boolean granted = outcome.orElse(null) instanceof TokenDecision.Granted;
      deliver(
          id,
          outcome,
          granted ? reply.text(TENANT_AT) : "",
          granted ? ReplyMapper.keyOf(reply.text(KEY_AT)) : null);
    }
  }

  /** Delivers a decision; returns false if no caller waits for it any more. */
  private boolean deliver(
      String id, Optional<TokenDecision> outcome, String tenant, @Nullable String key) {
    TicketWaiters.WaitingTicket waiting;
    synchronized (this) { // for unclaim: a grant is either awaited or known here
      waiting = waiters.take(id);
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
  private void undelivered(String id) {
    outage.undelivered(id);
    unclaim(id);
  }

  /** Unclaims a grant, unless a caller of this node has it or waits for it. */
  private synchronized void unclaim(String id) {
    if (!closed && !isAwaited(id) && !outage.isOpen(id)) {
      outage.outbox().leave(id, waiters.nextSequence(), "undelivered");
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
    var unused =
        claimForWaiters(id)
            .whenComplete(
                (answer, failure) -> {
                  if (answer == null) {
                    refuse(id, TokenDecision.Reason.TIMEOUT);
                    // Redis may have granted it.
                    outage.outbox().cancel(id, false);
                  } else {
                    update(id, answer.result(), answer.micros());
                    if (answer.result().kind() == 'q') {
                      watchDeadline(id, answer.result());
                    }
                  }
                });
  }

  private boolean refuse(String id, TokenDecision.Reason reason) {
    return refuse(id, place -> replies.refused(place, reason, scripts.config()));
  }

  /** Denies a ticket of known place; returns whether callers waited for it. */
  private boolean refuse(String id, Function<StoreSnapshot.OpenTicket, TokenDecision> decision) {
    TicketWaiters.WaitingTicket waiting = waiters.find(id);
    StoreSnapshot.OpenTicket place = waiting == null ? null : waiting.place;
    return place != null && deliver(id, Optional.of(decision.apply(place)), "", null);
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
    synchronized (this) {
      hasWaiters = answer.waiting() > 0;
    }
    scheduleCheck(answer.waitMicros());
  }

  private void received(ScriptResult.TicketDecision decision) {
    String id = decision.id();
    if (decision.claimed() && decision.granted() && waiters.find(id) == null) {
      unclaim(id);
    } else if (!decision.granted() || (decision.claimed() && !outage.outbox().isLeaving(id))) {
      deliver(
          id,
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
      // Never set to false here: a notice may be older than the last reply.
      synchronized (this) {
        hasWaiters = true;
      }
      scheduleCheck(micros);
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

  /** Claims a grant and then delivers it. */
  private void claim(String id) {
    var unused =
        claimForWaiters(id)
            .whenComplete(
                (answer, failure) -> {
                  if (answer == null) {
                    checkWithin(RETRY_NANOS);
                  } else {
                    update(id, answer.result(), answer.micros());
                  }
                });
  }

  /** Claims a grant for the waiters; never completes if there are none. */
  private synchronized CompletableFuture<ScriptResult> claimForWaiters(String id) {
    return waiters.find(id) == null
        ? new CompletableFuture<>()
        : scripts.call(GovernorScript.TICKET, "claim", id, waiters.nextSequence());
  }

  private void scheduleCheck(long micros) {
    if (micros >= 0) {
      long nanos = TimeUnit.MICROSECONDS.toNanos(micros);
      checkWithin(micros == 0 ? 0 : nanos + spreadNanos.getAsLong());
    }
    if (micros >= 0 || waiters.size() > 0) {
      checkWithin(Math.min(MAX_CHECK_NANOS, maxThoroughNanos()));
    }
  }

  private long maxThoroughNanos() {
    long idleTimeout = ModelScriptConfig.micros(scripts.config().waitingList().ticketIdleTimeout());
    return TimeUnit.MICROSECONDS.toNanos(Math.max(1, idleTimeout / CHECKS_PER_TIMEOUT));
  }

  private void checkWithin(long nanos) {
    if (!closed) {
      next.by(nanos);
    }
  }

  /** Checks the waiting list: Redis grants waiters; a thorough check polls awaited tickets. */
  void check() {
    List<CompletableFuture<?>> calls = new ArrayList<>();
    boolean thorough;
    synchronized (this) {
      if (closed || (!hasWaiters && waiters.size() == 0)) {
        return;
      }
      if (checking) {
        checkAgain = true;
        return;
      }
      checking = true;
      long now = timer.nanoTime();
      thorough = !checkedThoroughly || now - thoroughAt >= thoroughNanos();
      if (thorough) {
        checkedThoroughly = true;
        thoroughAt = now;
      }
      List<String> ids = thorough ? waiters.ids() : List.of();
      for (int from = 0; from == 0 || from < ids.size(); from += PORTION) {
        calls.add(tick(ids.subList(from, Math.min(from + PORTION, ids.size()))));
      }
    }
    var unused =
        CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new))
            .whenComplete((done, failure) -> checked(thorough, failure));
  }

  private long thoroughNanos() {
    long nanos = Math.max(MIN_THOROUGH_NANOS, waiters.size() * PER_TICKET_NANOS);
    return Math.min(nanos, maxThoroughNanos());
  }

  private CompletableFuture<Void> tick(List<String> ids) {
    List<String> arguments = new ArrayList<>(List.of("tick", waiters.nextSequence()));
    arguments.addAll(ids);
    return scripts
        .call(GovernorScript.TICKET, arguments.toArray(String[]::new))
        .thenAccept(
            answer ->
                answer
                    .result()
                    .lists()
                    .forEach(each -> update(each.text(1), each, answer.micros())));
  }

  private void checked(boolean thorough, @Nullable Throwable failure) {
    boolean again;
    long untilThorough;
    synchronized (this) {
      again = checkAgain;
      checkAgain = false;
      checking = false;
      untilThorough = Math.max(0, thoroughAt + thoroughNanos() - timer.nanoTime());
    }
    if (failure != null) {
      checkWithin(RETRY_NANOS);
    } else if (again) {
      checkWithin(0);
    } else if (!thorough && waiters.size() > 0) {
      checkWithin(untilThorough);
    }
  }

  /** Fails all waiters, after the calls about new ones were answered or timed out. */
  void close(Duration timeout) {
    closed = true;
    waiters
        .registrations()
        .handle((done, failure) -> true)
        .completeOnTimeout(false, timeout.toNanos(), TimeUnit.NANOSECONDS)
        .join();
    for (String id : waiters.ids()) {
      var unused = scripts.call(GovernorScript.TICKET, "leave", id, waiters.nextSequence());
      end(id);
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
