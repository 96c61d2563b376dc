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

/**
 * Where this node's callers wait for a model's tickets, and what keeps its line going. For any
 * number of threads.
 */
final class TicketWaitingList {
  /*
   * A waiter receives the decision in one of three ways: with the reply to a call of this node, by a message about a call
   * of another node, or by a check. A check drains the waiting list at the time that the last reply or message named,
   * even if other nodes do so too; a thorough check also polls every ticket that is awaited here, which replaces lost
   * messages and keeps the tickets from being abandoned.
   * During an outage LocalShareStore decides about the tickets whose place is known; the others wait for Redis.
   * Only the node that has claimed a grant may deliver it: after a reply or a poll that says so.
   *
   * A waiter is entered, and a call about it gets its turn, under this object's lock: Redis obeys the last turn. Futures
   * complete on a thread of the timer.
   */

  /** While Redis does not answer. */
  private static final long AWAY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int PORTION = 500; // tickets of a call, which must not hold up others

  // A node asks for no more than a thousand tickets a second, however often it looks.
  private static final long PER_TICKET_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final int TENANT_AT = 6; // in the reply of a grant
  private static final int KEY_AT = 7;

  // For a later deadline it is set again: those who wait for that may leave much earlier.
  private static final long LONGEST_TIMER_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** By a longer silence the scripts find that Redis was away: {@code QUIET}. */
  private static final long MOST_BETWEEN_LOOKS_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long SOONEST_THOROUGH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int LOOKS_IN_PATIENCE = 3;

  private final ModelScripts scripts;
  private final ReplyMapper replies;
  private final StoreTimer timer;
  private final LongSupplier spreadNanos;
  private final OutageModelStore outage;
  private final WakeUpTimer next;
  private final WakeUpTimer deadlines;
  private final TicketWaiters waiters = new TicketWaiters();

  // Guarded by this.
  private boolean someoneInLine;
  private boolean looking;
  private boolean lookAgain;
  private boolean lookedThoroughly;
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
    this.next = new WakeUpTimer(timer, this::look);
    this.deadlines = new WakeUpTimer(timer, this::endDeadlines);
  }

  /** How a ticket stands; claims what was granted. */
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
        waiting.arrival =
            scripts
                .call(GovernorScript.TICKET, "await", id, waiters.nextTurn())
                .handle(
                    (answer, failure) -> {
                      arrived(id, waiter, answer, failure);
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

  private void arrived(
      String id,
      CompletableFuture<Optional<TokenDecision>> waiter,
      @Nullable ScriptResult answer,
      @Nullable Throwable failure) {
    if (answer != null) {
      stands(id, answer.result(), answer.micros());
    } else if (failure != null && !RedisFailure.isUnavailable(failure)) {
      timer.execute(() -> waiter.completeExceptionally(failure));
    } else {
      lookBy(AWAY_NANOS);
    }
    if (closed) {
      end(id);
    }
  }

  /** The ticket has to be asked for again, as if it had been polled now. */
  private synchronized void leave(String id, CompletableFuture<Optional<TokenDecision>> waiter) {
    TicketWaiters.WaitingTicket left = waiters.remove(id, waiter);
    if (left != null && !closed) {
      outage.local().leave(replies.ticket(id));
      // If the ticket was waiting when this caller came, no caller of this node has its grant.
      boolean untold = left.place != null || !outage.isOpen(id);
      outage.outbox().leave(id, waiters.nextTurn(), untold ? "undelivered" : "");
    }
  }

  /** Handles the reply about an awaited ticket, at a time of Redis. */
  private void stands(String id, ScriptReply reply, long micros) {
    if (reply.kind() == 'o') {
      return; // a later call of this node came first
    }
    Optional<TokenDecision> outcome =
        reply.kind() == 'n' ? Optional.empty() : Optional.of(replies.outcome(reply, scripts.config()));
    if (outcome.orElse(null) instanceof TokenDecision.Queued) {
      TicketWaiters.WaitingTicket waiting = waiters.find(id);
      if (waiting != null) {
        boolean first = waiting.place == null;
        waiting.stands(
            replies.place(reply, timer.nanoTime()), ReplyMapper.askedMicros(reply, micros));
        if (first) {
          watchDeadline(id, reply);
        }
      }
    } else {
      boolean granted = outcome.orElse(null) instanceof TokenDecision.Granted;
      tell(
          id,
          outcome,
          granted ? reply.text(TENANT_AT) : "",
          granted ? ReplyMapper.keyOf(reply.text(KEY_AT)) : null);
    }
  }

  /** Returns false if nobody waits for it any more. */
  private boolean tell(
      String id, Optional<TokenDecision> outcome, String tenant, @Nullable String key) {
    TicketWaiters.WaitingTicket waiting;
    synchronized (this) { // for leaveUntold: a grant is either awaited or known here
      waiting = waiters.take(id);
      if (waiting != null && outcome.orElse(null) instanceof TokenDecision.Granted granted) {
        outage.granted(granted, tenant, key);
      }
    }
    if (waiting == null) {
      return false;
    }
    timer.execute(() -> waiting.complete(outcome, () -> unheard(id)));
    return true;
  }

  /** Returns the tickets that are awaited here, with what is known of them, the oldest first. */
  List<StoreSnapshot.OpenTicket> places() {
    return waiters.places();
  }

  boolean isAwaited(String id) {
    return waiters.find(id) != null;
  }

  /** This node has decided about a ticket by itself. */
  void decidedHere(String id, TokenDecision outcome) {
    TicketWaiters.WaitingTicket waiting = waiters.take(id);
    if (waiting != null) {
      timer.execute(() -> waiting.complete(Optional.of(outcome), () -> outage.unheardHere(id)));
    }
  }

  /** Redis is told of these tickets, which this node has made, and decides about them. */
  void goOn(List<StoreSnapshot.OpenTicket> made) {
    for (StoreSnapshot.OpenTicket place : made) {
      TicketWaiters.WaitingTicket waiting = waiters.find(ReplyMapper.idIn(place.id()));
      if (waiting != null) {
        long asked = scripts.serverNanos() - (timer.nanoTime() - place.since());
        waiting.stands(place, TimeUnit.NANOSECONDS.toMicros(asked));
      }
    }
  }

  /** Those who waited had gone in the same moment: somebody may still come and ask. */
  private void unheard(String id) {
    outage.unheard(id);
    leaveUntold(id);
  }

  /** Unclaims a grant, unless a caller of this node has it or waits for it. */
  private synchronized void leaveUntold(String id) {
    if (!closed && !isAwaited(id) && !outage.isOpen(id)) {
      outage.outbox().leave(id, waiters.nextTurn(), "undelivered");
    }
  }

  private void watchDeadline(String id, ScriptReply standing) {
    long micros = standing.number(9);
    if (micros > 0) {
      waiters.decideBy(id, timer.nanoTime() + TimeUnit.MICROSECONDS.toNanos(micros));
      awaitDeadlines();
    }
  }

  private void awaitDeadlines() {
    Long first = waiters.firstDeadline();
    if (first != null && !closed) {
      deadlines.by(Math.min(LONGEST_TIMER_NANOS, Math.max(0, first - timer.nanoTime())));
    }
  }

  private void endDeadlines() {
    if (!closed) {
      waiters.overdue(timer.nanoTime()).forEach(this::endDeadline);
      awaitDeadlines();
    }
  }

  /** Redis says what became of it, or this node's share; without both its time is over, too. */
  private void endDeadline(String id) {
    if (outage.local().await(replies.ticket(id))) {
      return;
    }
    var unused =
        askForWaiters(id)
            .whenComplete(
                (answer, failure) -> {
                  if (answer == null) {
                    refuse(id, TokenDecision.Reason.TIMEOUT);
                    // It may have been granted there.
                    outage.outbox().cancel(id, false);
                  } else {
                    stands(id, answer.result(), answer.micros());
                    if (answer.result().kind() == 'q') {
                      watchDeadline(id, answer.result());
                    }
                  }
                });
  }

  private boolean refuse(String id, TokenDecision.Reason reason) {
    return refuse(id, place -> replies.refused(place, reason, scripts.config()));
  }

  /** Returns whether those who wait for it are told now. */
  private boolean refuse(String id, Function<StoreSnapshot.OpenTicket, TokenDecision> decision) {
    TicketWaiters.WaitingTicket waiting = waiters.find(id);
    StoreSnapshot.OpenTicket place = waiting == null ? null : waiting.place;
    return place != null && tell(id, Optional.of(decision.apply(place)), "", null);
  }

  /** Ends the waits for all tickets that are known to be in line. */
  void refuseAll(TokenDecision.Reason reason) {
    waiters.ids().forEach(id -> refuse(id, reason));
  }

  /** Without Redis; false if nobody waits for it here. */
  boolean cancelled(String id) {
    boolean awaited = waiters.find(id) != null;
    refuse(id, TokenDecision.Reason.CANCELLED);
    return awaited;
  }

  /** An answer to this node. */
  void heard(ScriptResult answer) {
    answer.forEachDecision(this::heard);
    synchronized (this) {
      someoneInLine = answer.waiting() > 0;
    }
    lookIn(answer.waitMicros());
  }

  private void heard(ScriptResult.TicketDecision news) {
    if (news.claimed() && news.granted() && waiters.find(news.id()) == null) {
      leaveUntold(news.id());
    } else if (!news.granted() || (news.claimed() && !outage.outbox().isLeaving(news.id()))) {
      tell(
          news.id(),
          Optional.of(replies.outcome(news, scripts.config())),
          news.tenant(),
          ReplyMapper.keyOf(news.key()));
    } else {
      claim(news.id());
    }
  }

  /** A message about an answer to another: when to look, and whom of all nodes it concerns. */
  void heard(String message) {
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
      // Not the other way round: it may be older than what was answered meanwhile.
      synchronized (this) {
        someoneInLine = true;
      }
      lookIn(micros);
    }
  }

  /** While this node's share decides, Redis does not; but a caller may cancel at any node. */
  private void refused(String id, String reason) {
    boolean cancelled = reason.equals(TokenDecision.Reason.CANCELLED.name());
    if ((cancelled || !outage.local().await(replies.ticket(id)))
        && refuse(id, place -> replies.refused(place, reason, scripts.config()))
        && cancelled) {
      outage.cancel(id);
    }
  }

  /** Granted: it may be told when Redis knows that somebody will be. */
  private void claim(String id) {
    var unused =
        askForWaiters(id)
            .whenComplete(
                (answer, failure) -> {
                  if (answer == null) {
                    lookBy(AWAY_NANOS);
                  } else {
                    stands(id, answer.result(), answer.micros());
                  }
                });
  }

  /** Never answered if nobody waits. */
  private synchronized CompletableFuture<ScriptResult> askForWaiters(String id) {
    return waiters.find(id) == null
        ? new CompletableFuture<>()
        : scripts.call(GovernorScript.TICKET, "claim", id, waiters.nextTurn());
  }

  private void lookIn(long micros) {
    if (micros >= 0) {
      long nanos = TimeUnit.MICROSECONDS.toNanos(micros);
      lookBy(micros == 0 ? 0 : nanos + spreadNanos.getAsLong());
    }
    if (micros >= 0 || waiters.size() > 0) {
      lookBy(Math.min(MOST_BETWEEN_LOOKS_NANOS, rarestThoroughNanos()));
    }
  }

  private long rarestThoroughNanos() {
    long patience = ModelScriptConfig.micros(scripts.config().waitingList().ticketIdleTimeout());
    return TimeUnit.MICROSECONDS.toNanos(Math.max(1, patience / LOOKS_IN_PATIENCE));
  }

  private void lookBy(long nanos) {
    if (!closed) {
      next.by(nanos);
    }
  }

  /** Lets go who can, and asks for those who are awaited here. */
  void look() {
    List<CompletableFuture<?>> calls = new ArrayList<>();
    boolean thorough;
    synchronized (this) {
      if (closed || (!someoneInLine && waiters.size() == 0)) {
        return;
      }
      if (looking) {
        lookAgain = true;
        return;
      }
      looking = true;
      long now = timer.nanoTime();
      thorough = !lookedThoroughly || now - thoroughAt >= thoroughNanos();
      if (thorough) {
        lookedThoroughly = true;
        thoroughAt = now;
      }
      List<String> ids = thorough ? waiters.ids() : List.of();
      for (int from = 0; from == 0 || from < ids.size(); from += PORTION) {
        calls.add(tick(ids.subList(from, Math.min(from + PORTION, ids.size()))));
      }
    }
    var unused =
        CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new))
            .whenComplete((done, failure) -> looked(thorough, failure));
  }

  private long thoroughNanos() {
    long nanos = Math.max(SOONEST_THOROUGH_NANOS, waiters.size() * PER_TICKET_NANOS);
    return Math.min(nanos, rarestThoroughNanos());
  }

  private CompletableFuture<Void> tick(List<String> ids) {
    List<String> arguments = new ArrayList<>(List.of("tick", waiters.nextTurn()));
    arguments.addAll(ids);
    return scripts
        .call(GovernorScript.TICKET, arguments.toArray(String[]::new))
        .thenAccept(
            answer ->
                answer
                    .result()
                    .lists()
                    .forEach(each -> stands(each.text(1), each, answer.micros())));
  }

  private void looked(boolean thorough, @Nullable Throwable failure) {
    boolean again;
    long untilThorough;
    synchronized (this) {
      again = lookAgain;
      lookAgain = false;
      looking = false;
      untilThorough = Math.max(0, thoroughAt + thoroughNanos() - timer.nanoTime());
    }
    if (failure != null) {
      lookBy(AWAY_NANOS);
    } else if (again) {
      lookBy(0);
    } else if (!thorough && waiters.size() > 0) {
      lookBy(untilThorough);
    }
  }

  /** Waits no longer than that for answers about those who have just come. */
  void close(Duration patience) {
    closed = true;
    waiters
        .arrivals()
        .handle((done, failure) -> true)
        .completeOnTimeout(false, patience.toNanos(), TimeUnit.NANOSECONDS)
        .join();
    for (String id : waiters.ids()) {
      var unused = scripts.call(GovernorScript.TICKET, "leave", id, waiters.nextTurn());
      end(id);
    }
  }

  private void end(String id) {
    refuse(id, TokenDecision.Reason.CLOSED);
    TicketWaiters.WaitingTicket unseen = waiters.take(id);
    if (unseen != null) {
      RuntimeException over = new StoreClosedException(RedisBudgetStore.CLOSED);
      timer.execute(() -> unseen.futures.forEach(each -> each.completeExceptionally(over)));
    }
  }
}
