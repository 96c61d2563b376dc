package dev.sluice.governor;

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

/** All tickets of a desk, and when somebody has to be missed. Guarded by the desk. */
final class TicketBook {
  /** The most places of one tenant for each free one: no tenant fills the line alone. */
  private static final int PLACES_FOR_ONE_FREE = 9;

  /** Refusals that are remembered for late polls; beyond that the oldest is forgotten. */
  private static final int MOST_REFUSED = 10_000;

  private final Map<String, TicketState> byId = new HashMap<>();
  private final Map<TicketState.Key, TicketState> byKey = new HashMap<>();
  private final Map<Waiting, TicketState> places = new HashMap<>();
  private final Map<String, Integer> placesByTenant = new HashMap<>();
  private final Set<TicketState> refused = new LinkedHashSet<>();

  /** Who has not been seen for longest comes first; without those who need not be seen. */
  private final Set<TicketState> unattended = new LinkedHashSet<>();

  private final NavigableSet<TicketState> deadlines =
      new TreeSet<>(
          Comparator.comparingLong((TicketState each) -> each.deadline)
              .thenComparingLong(each -> each.number));

  void add(TicketState ticket) {
    byId.put(ticket.id, ticket);
    TicketState.Key key = TicketState.keyOf(ticket.request);
    if (key != null) {
      byKey.put(key, ticket);
    }
    if (!ticket.claimed) {
      unattended.add(ticket);
    }
  }

  /** It is in line there. */
  void place(TicketState ticket, Waiting waiting) {
    ticket.waiting = waiting;
    places.put(waiting, ticket);
    placesByTenant.merge(ticket.request.tenant(), 1, Integer::sum);
    if (ticket.deadline != TicketState.NO_DEADLINE) {
      deadlines.add(ticket);
    }
  }

  /** Whose place it was, which is none any more; null for nobody's. */
  @Nullable TicketState leave(Waiting waiting) {
    TicketState ticket = places.remove(waiting);
    if (ticket != null) {
      leavePlaceOf(ticket.request.tenant());
    }
    if (ticket != null && ticket.deadline != TicketState.NO_DEADLINE) {
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
   * Returns whether a tenant gets no further place: the line is full, or the tenant has nine times
   * as many places as are free.
   */
  boolean isFullFor(String tenant, int most) {
    int free = most - places.size();
    return free <= 0 || placesByTenant.getOrDefault(tenant, 0) >= (long) PLACES_FOR_ONE_FREE * free;
  }

  /** Remembers a refused ticket, so that a late poll learns the reason. */
  void decided(TicketState ticket) {
    if (ticket.decided instanceof Outcome.Refused) {
      refused.add(ticket);
    }
    if (refused.size() > MOST_REFUSED) {
      forget(refused.iterator().next());
    }
  }

  /** Whose place it is. */
  TicketState at(Waiting waiting) {
    return Objects.requireNonNull(places.get(waiting));
  }

  @Nullable TicketState find(String id) {
    return byId.get(id);
  }

  @Nullable TicketState ofKey(TokenRequest request) {
    TicketState.Key key = TicketState.keyOf(request);
    return key == null ? null : byKey.get(key);
  }

  /** Somebody asked for it. */
  void seen(TicketState ticket, long now) {
    ticket.seenAt = now;
    watch(ticket);
  }

  /**
   * Its holder is missed from its last sight on, unless somebody waits, or has a grant: that ends
   * with its reservation.
   */
  void watch(TicketState ticket) {
    unattended.remove(ticket);
    boolean hasGrant = ticket.claimed && ticket.decided instanceof Outcome.Granted;
    if (!hasGrant && ticket.waiters.isEmpty() && byId.containsKey(ticket.id)) {
      unattended.add(ticket);
    }
  }

  void forget(TicketState ticket) {
    byId.remove(ticket.id);
    unattended.remove(ticket);
    refused.remove(ticket);
    TicketState.Key key = TicketState.keyOf(ticket.request);
    if (key != null) {
      byKey.remove(key, ticket);
    }
  }

  /** Whose deadline has come; null if nobody's has. */
  @Nullable TicketState late(long now) {
    TicketState first = deadlines.isEmpty() ? null : deadlines.first();
    return first != null && first.deadline <= now ? first : null;
  }

  /** Who has been missed for so long; null if nobody has. */
  @Nullable TicketState missed(long patience, long now) {
    TicketState first = unattended.isEmpty() ? null : unattended.iterator().next();
    return first != null && first.seenAt + patience <= now ? first : null;
  }

  /** When one of these is to be looked at next. */
  long nextEnd(long patience) {
    long deadline = deadlines.isEmpty() ? Long.MAX_VALUE : deadlines.first().deadline;
    return unattended.isEmpty()
        ? deadline
        : Math.min(deadline, unattended.iterator().next().seenAt + patience);
  }

  /** Of all tickets. */
  List<CompletableFuture<Optional<Outcome>>> waiters() {
    return byId.values().stream().flatMap(each -> each.waiters.stream()).toList();
  }
}
