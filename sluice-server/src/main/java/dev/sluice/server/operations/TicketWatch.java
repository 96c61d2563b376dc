package dev.sluice.server.operations;

import dev.sluice.governor.TokenDecision;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.Futures;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Follows a ticket: reports its position each second if that has changed, and its outcome in the
 * end. Meanwhile the ticket does not expire, though its client does not poll.
 */
public final class TicketWatch {
  private final TicketWaiters waits;
  private final ConcurrencyQuota.Hold place;
  private final Caller caller;
  private final String ticket;
  private final TokenDecision first;

  // Guarded by this.
  private TicketWatch.@Nullable TicketListener follower;
  private TokenDecision.@Nullable Queued last;
  private @Nullable CompletableFuture<Optional<TokenDecision>> decision;
  private @Nullable Future<?> ticks;
  private boolean over;
  private boolean looking;
  private boolean missing;

  /** Receives the states of a ticket; called by one thread at a time, and must not block. */
  public interface TicketListener {
    /** Returns false if the client has left or lost its permission; it gets no more events then. */
    boolean isThere();

    /** Returns false while the client has not read earlier events; the next position is skipped. */
    boolean isReady();

    /** Reports that the ticket still waits. */
    void standing(TokenDecision.Queued standing);

    /** It was granted or refused; nothing comes after this. */
    void decided(TokenDecision outcome);

    /** There is no such ticket any more; nothing comes after this. */
    void failed(ApiException why);
  }

  /**
   * Does nothing before {@link #begin}.
   *
   * @param place given back by {@link #close}
   * @param first the present state of the ticket
   */
  TicketWatch(
      TicketWaiters waits,
      ConcurrencyQuota.Hold place,
      Caller caller,
      String ticket,
      TokenDecision first) {
    this.waits = waits;
    this.place = place;
    this.caller = caller;
    this.ticket = ticket;
    this.first = first;
  }

  public void begin(TicketWatch.TicketListener to) {
    synchronized (this) {
      follower = to;
    }
    // Before the first event, so that a client that got it also gets the decision.
    if (first instanceof TokenDecision.Queued) {
      follow();
    }
    tellFirst();
  }

  private synchronized void tellFirst() {
    if (last == null) {
      tell(first);
    }
  }

  private void follow() {
    CompletableFuture<Optional<TokenDecision>> awaited = waits.await(ticket);
    synchronized (this) {
      if (!over) {
        decision = awaited;
        ticks = waits.everySecond(this::look);
      }
    }
    if (isOver()) {
      awaited.cancel(false);
    }
    Futures.when(
        awaited,
        outcome -> outcome.ifPresentOrElse(this::tell, () -> fail(TicketWaiters.unknown(ticket))),
        this::fail);
  }

  private synchronized boolean isOver() {
    return over;
  }

  private void look() {
    if (!begins()) {
      return;
    }
    TicketWatch.TicketListener to = following();
    if (to != null && !to.isThere()) {
      close();
      ends();
      return;
    }
    CompletableFuture<TokenDecision> looked = waits.standing(caller, ticket);
    Futures.when(looked, this::tell, this::missed);
    Futures.whenOver(looked, this::ends);
  }

  /** While the governor does not answer, or has no place for the call, the watch continues. */
  private void missed(Throwable failure) {
    ApiException why = ApiException.of(failure);
    boolean isTemporary =
        why.kind() == ErrorKind.UNAVAILABLE || why.kind() == ErrorKind.RESOURCE_EXHAUSTED;
    if (!isTemporary && wasMissing()) {
      fail(why);
    }
  }

  /** Returns false if the watch is over, or another thread is checking the ticket. */
  private synchronized boolean begins() {
    boolean begins = !over && !looking;
    looking = looking || begins;
    return begins;
  }

  /** Returns true from the second miss in a row: the decision of a ticket may be under way. */
  private synchronized boolean wasMissing() {
    boolean before = missing;
    missing = true;
    return before;
  }

  private synchronized void ends() {
    looking = false;
  }

  private synchronized TicketWatch.@Nullable TicketListener following() {
    return follower;
  }

  private synchronized void tell(TokenDecision now) {
    missing = false;
    TicketWatch.TicketListener to = follower;
    if (over || to == null) {
      return;
    }
    if (!(now instanceof TokenDecision.Queued standing)) {
      close();
      to.decided(now);
    } else if (isNews(standing) && to.isReady()) {
      last = standing;
      to.standing(standing);
    }
  }

  private boolean isNews(TokenDecision.Queued standing) {
    TokenDecision.Queued before = last;
    return before == null
        || before.queuePosition() != standing.queuePosition()
        || !before.eta().equals(standing.eta())
        || before.binding() != standing.binding();
  }

  private synchronized void fail(Throwable why) {
    TicketWatch.TicketListener to = follower;
    if (!over && to != null) {
      close();
      to.failed(ApiException.of(why));
    }
  }

  /** Ends the watch: the ticket is abandoned unless it is polled or watched again. */
  public synchronized void close() {
    over = true;
    if (ticks != null) {
      ticks.cancel(false);
    }
    waits.cancel(decision);
    place.close();
  }
}
