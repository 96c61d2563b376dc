package dev.sluice.server.operations;

import dev.sluice.governor.Governor;
import dev.sluice.governor.TokenDecision;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import dev.sluice.server.transport.Readiness;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls that wait for tickets, without a thread of their own. */
public final class TicketWaiters {
  private static final Logger LOG = LoggerFactory.getLogger(TicketWaiters.class);
  static final Duration LONGEST = Duration.ofSeconds(60);

  /** Polls that wait, on all connections together. */
  static final int MAX_POLLS = 10_000;

  /** The most watched tickets; each costs a check of the waiting list every second. */
  public static final int MAX_WATCHES = 256;

  /** The share of one account: one part in this many of polls and watches. */
  private static final int ACCOUNTS = 4;

  private final Governor governor;
  private final ScheduledExecutorService timer;
  private final GovernorCalls calls;
  private final ConcurrencyQuota pollShare =
      new ConcurrencyQuota("waiting polls", MAX_POLLS, MAX_POLLS / ACCOUNTS);
  private final ConcurrencyQuota watchShare =
      new ConcurrencyQuota("watched tickets", MAX_WATCHES, MAX_WATCHES / ACCOUNTS);
  private final Set<Runnable> polls = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  public TicketWaiters(Governor governor, ScheduledExecutorService timer, GovernorCalls calls) {
    this.governor = governor;
    this.timer = timer;
    this.calls = calls;
  }

  static ApiException unknown(String ticket) {
    return ApiException.notFound("unknown or expired ticket: " + ticket);
  }

  /** Polls a ticket. Canceling the future counts as a poll at that time. */
  CompletableFuture<TokenDecision> poll(Credential key, String ticket, Duration wait) {
    if (wait.isZero()) {
      return standing(key.caller(), ticket);
    }
    ConcurrencyQuota.Hold place = pollShare.take(key.caller());
    CompletableFuture<TokenDecision> answer = new CompletableFuture<>();
    Futures.whenOver(answer, place::close);
    CompletableFuture<Optional<TokenDecision>> decision;
    try {
      decision = await(ticket);
    } catch (RuntimeException refused) {
      place.close();
      throw refused;
    }
    WatchedCall watch = key.watch(answer::completeExceptionally);
    Runnable end = () -> answer.completeExceptionally(Readiness.closing());
    polls.add(end);
    Future<?> timeout =
        timer.schedule(
            () -> calls.execute(() -> outOfTime(key.caller(), ticket, decision, answer)),
            wait.toNanos(),
            TimeUnit.NANOSECONDS);
    Futures.whenOver(
        answer,
        () -> {
          polls.remove(end);
          watch.close();
          timeout.cancel(false);
          decision.cancel(false);
        });
    Futures.when(
        decision,
        outcome -> {
          if (watch.isValid()) {
            outcome.ifPresentOrElse(
                answer::complete, () -> answer.completeExceptionally(unknown(ticket)));
          }
        },
        failure -> {
          if (!decision.isCancelled()) {
            answer.completeExceptionally(failure);
          }
        });
    if (closed) {
      end.run();
    }
    return answer;
  }

  /** Returns a decision even if it was made at the end of the wait. */
  private void outOfTime(
      Caller caller,
      String ticket,
      CompletableFuture<Optional<TokenDecision>> decision,
      CompletableFuture<TokenDecision> answer) {
    if (decision.cancel(false)) {
      Futures.when(standing(caller, ticket), answer::complete, answer::completeExceptionally);
    }
  }

  CompletableFuture<TokenDecision> standing(Caller caller, String ticket) {
    return calls
        .call(caller, () -> governor.poll(ticket))
        .thenApply(decision -> decision.orElseThrow(() -> unknown(ticket)));
  }

  /**
   * Returns a watch that counts against the caller's share until it is closed; fails if there is no
   * such ticket. A canceled future leaves nothing to close.
   */
  public CompletableFuture<TicketWatch> watch(Caller caller, String ticket) {
    ConcurrencyQuota.Hold place = watchShare.take(caller);
    CompletableFuture<TicketWatch> answer =
        standing(caller, ticket)
            .thenApply(first -> new TicketWatch(this, place, caller, ticket, first));
    Futures.when(answer, watch -> {}, failure -> place.close());
    return answer;
  }

  CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    return governor.await(ticket);
  }

  Future<?> everySecond(Runnable look) {
    return timer.scheduleAtFixedRate(() -> calls.execute(look), 1, 1, TimeUnit.SECONDS);
  }

  /**
   * Cancels the decision of a watch that is over, on a thread that holds no lock: the cancellation
   * may call other waiters.
   */
  void cancel(@Nullable CompletableFuture<?> decision) {
    if (decision != null && !decision.isDone()) {
      try {
        calls.execute(() -> decision.cancel(false));
      } catch (RejectedExecutionException closing) {
        LOG.debug("the governor is closing and has no waiters", closing);
      }
    }
  }

  /** Calls that wait now. */
  public int open() {
    return polls.size() + watchShare.held();
  }

  /** Ends every poll, and each that comes later. */
  public void close() {
    closed = true;
    polls.forEach(Runnable::run);
  }
}
