package dev.sluice.server;

import dev.sluice.governor.Outcome;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Follows a ticket: tells how it stands, each second if that has changed, and what comes of it in
 * the end. While it does, nobody has to ask for the ticket.
 */
final class TicketWatch {
  private final TicketWaits waits;
  private final Share.Hold place;
  private final String ticket;
  private final Outcome first;

  // Guarded by this.
  private @Nullable Follower follower;
  private Outcome.@Nullable Queued last;
  private @Nullable CompletableFuture<Optional<Outcome>> decision;
  private @Nullable Future<?> ticks;
  private boolean over;
  private boolean looking;
  private boolean missing;

  /** Whoever wants to know; told by one thread at a time, which must not wait. */
  interface Follower {
    /** False if it has left, or may not follow any longer: nothing more is told then. */
    boolean isThere();

    /** False while it has not read what it was told before: the next standing is left out. */
    boolean isReady();

    /** It is still in line. */
    void standing(Outcome.Queued standing);

    /** It was granted or refused; nothing comes after this. */
    void decided(Outcome outcome);

    /** There is no such ticket any more; nothing comes after this. */
    void failed(ApiException why);
  }

  /**
   * Does nothing before {@link #begin}.
   *
   * @param place given back by {@link #close}
   * @param first how the ticket stands now
   */
  TicketWatch(TicketWaits waits, Share.Hold place, String ticket, Outcome first) {
    this.waits = waits;
    this.place = place;
    this.ticket = ticket;
    this.first = first;
  }

  void begin(Follower to) {
    synchronized (this) {
      follower = to;
    }
    // Before the first event, so that a client that got it also gets the decision.
    if (first instanceof Outcome.Queued) {
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
    CompletableFuture<Optional<Outcome>> awaited = waits.await(ticket);
    synchronized (this) {
      if (!over) {
        decision = awaited;
        ticks = waits.everySecond(this::look);
      }
    }
    if (isOver()) {
      awaited.cancel(false);
    }
    Later.when(
        awaited,
        outcome -> outcome.ifPresentOrElse(this::tell, () -> fail(TicketWaits.unknown(ticket))),
        this::fail);
  }

  private synchronized boolean isOver() {
    return over;
  }

  private void look() {
    if (!begins()) {
      return;
    }
    try {
      Follower to = following();
      if (to != null && !to.isThere()) {
        close();
      } else {
        tell(waits.standing(ticket));
      }
    } catch (ApiException gone) {
      // While nobody knows how it stands, whoever follows goes on waiting.
      if (gone.kind() != ErrorKind.UNAVAILABLE && wasMissing()) {
        fail(gone);
      }
    } finally {
      ends();
    }
  }

  /** False if it is over, or somebody else still looks. */
  private synchronized boolean begins() {
    boolean begins = !over && !looking;
    looking = looking || begins;
    return begins;
  }

  /** Returns true from the second miss on: the decision of a missing ticket may be under way. */
  private synchronized boolean wasMissing() {
    boolean before = missing;
    missing = true;
    return before;
  }

  private synchronized void ends() {
    looking = false;
  }

  private synchronized @Nullable Follower following() {
    return follower;
  }

  private synchronized void tell(Outcome now) {
    Follower to = follower;
    if (over || to == null) {
      return;
    }
    if (!(now instanceof Outcome.Queued standing)) {
      close();
      to.decided(now);
    } else if (isNews(standing) && to.isReady()) {
      last = standing;
      to.standing(standing);
    }
  }

  private boolean isNews(Outcome.Queued standing) {
    Outcome.Queued before = last;
    return before == null
        || before.queuePosition() != standing.queuePosition()
        || !before.etaMs().equals(standing.etaMs())
        || before.binding() != standing.binding();
  }

  private synchronized void fail(Throwable why) {
    Follower to = follower;
    if (!over && to != null) {
      close();
      to.failed(ApiException.of(why));
    }
  }

  /** Nobody follows any longer: the ticket has to be asked for again. */
  synchronized void close() {
    over = true;
    if (ticks != null) {
      ticks.cancel(false);
    }
    waits.cancel(decision);
    place.close();
  }
}
