package dev.sluice.governor.internal.engine;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The tickets of a model and their idle timers. Guarded by the lock of its store. */
public final class Tickets {
  /** The most places of one tenant for each free one: no tenant fills the waiting list alone. */
  private static final int PLACES_FOR_ONE_FREE = 9;

  /** Refusals that are remembered for late polls; beyond that the oldest is forgotten. */
  private static final int MOST_REFUSED = 10_000;

  private final Map<String, Ticket> byId = new HashMap<>();
  private final Map<Ticket.Key, Ticket> byKey = new HashMap<>();
  private final Map<TokenWaiter, Ticket> places = new HashMap<>();
  private final Map<String, Integer> placesByTenant = new HashMap<>();
  private final Set<Ticket> refused = new LinkedHashSet<>();

  /** Tickets by the time of their last poll, the oldest first; without those that need no poll. */
  private final Set<Ticket> unattended = new LinkedHashSet<>();

  private final NavigableSet<Ticket> deadlines =
      new TreeSet<>(
          Comparator.comparingLong((Ticket each) -> each.deadline)
              .thenComparingLong(each -> each.number));

  public void add(Ticket ticket) {
    byId.put(ticket.id, ticket);
    Ticket.Key key = Ticket.keyOf(ticket.request);
    if (key != null) {
      byKey.put(key, ticket);
    }
    if (!ticket.claimed) {
      unattended.add(ticket);
    }
  }

  /** Records the waiter of a ticket. */
  public void place(Ticket ticket, TokenWaiter waiting) {
    ticket.waiting = waiting;
    places.put(waiting, ticket);
    placesByTenant.merge(ticket.request.tenant(), 1, Integer::sum);
    if (ticket.deadline != Ticket.NO_DEADLINE) {
      deadlines.add(ticket);
    }
  }

  /** Removes a waiter; returns its ticket, or null if it has none. */
  @Nullable Ticket leave(TokenWaiter waiting) {
    Ticket ticket = places.remove(waiting);
    if (ticket != null) {
      leavePlaceOf(ticket.request.tenant());
    }
    if (ticket != null && ticket.deadline != Ticket.NO_DEADLINE) {
      deadlines.remove(ticket);
    }
    return ticket;
  }

  private void leavePlaceOf(String tenant) {
    int left = placesByTenant.getOrDefault(tenant, 1) - 1;
    if (left > 0) {
      placesByTenant.put(tenant, left);
    } else {
      placesByTenant.remove(tenant);
    }
  }

  /**
   * Returns whether a tenant gets no further place: the waiting list is full, or the tenant has
   * nine times as many places as are free.
   */
  boolean isFullFor(String tenant, int most) {
    int free = most - places.size();
    return free <= 0 || placesByTenant.getOrDefault(tenant, 0) >= (long) PLACES_FOR_ONE_FREE * free;
  }

  /** Remembers a refused ticket, so that a late poll learns the reason. */
  void decided(Ticket ticket) {
    TokenDecision decided = ticket.decided;
    if (decided != null && !decided.isGranted()) {
      refused.add(ticket);
    }
    if (refused.size() > MOST_REFUSED) {
      forget(refused.iterator().next());
    }
  }

  /** Returns the ticket of a waiter. */
  public Ticket at(TokenWaiter waiting) {
    return Objects.requireNonNull(places.get(waiting));
  }

  @Nullable Ticket find(String id) {
    return byId.get(id);
  }

  @Nullable Ticket ofKey(TokenRequest request) {
    Ticket.Key key = Ticket.keyOf(request);
    return key == null ? null : byKey.get(key);
  }

  /** Restarts the idle timer of a ticket. */
  void restartIdleTimer(Ticket ticket, long now) {
    ticket.seenAt = now;
    watch(ticket);
  }

  /**
   * Runs the idle timer of a ticket from its last poll on, unless it has waiters, or a claimed
   * grant, which ends with its reservation.
   */
  void watch(Ticket ticket) {
    unattended.remove(ticket);
    boolean hasGrant = ticket.claimed && ticket.decided instanceof TokenDecision.Granted;
    if (!hasGrant && ticket.waiters.isEmpty() && byId.containsKey(ticket.id)) {
      unattended.add(ticket);
    }
  }

  public void forget(Ticket ticket) {
    byId.remove(ticket.id);
    unattended.remove(ticket);
    refused.remove(ticket);
    Ticket.Key key = Ticket.keyOf(ticket.request);
    if (key != null) {
      byKey.remove(key, ticket);
    }
  }

  /** Returns a ticket whose maximum wait is over; null if there is none. */
  @Nullable Ticket overdue(long now) {
    Ticket first = deadlines.isEmpty() ? null : deadlines.first();
    return first != null && first.deadline <= now ? first : null;
  }

  /** Returns a ticket that has been idle for so long; null if there is none. */
  @Nullable Ticket idle(long idleNanos, long now) {
    Ticket first = unattended.isEmpty() ? null : unattended.iterator().next();
    return first != null && first.seenAt + idleNanos <= now ? first : null;
  }

  /** Returns the time at which the next ticket expires. */
  long nextEnd(long idleNanos) {
    long deadline = deadlines.isEmpty() ? Long.MAX_VALUE : deadlines.first().deadline;
    return unattended.isEmpty()
        ? deadline
        : Math.min(deadline, unattended.iterator().next().seenAt + idleNanos);
  }

  /** Returns the waiters of all tickets. */
  List<CompletableFuture<Optional<TokenDecision>>> waiters() {
    return byId.values().stream().flatMap(each -> each.waiters.stream()).toList();
  }
}
