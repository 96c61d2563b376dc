package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.spi.StoreSnapshot.OpenTicket;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The callers that wait on this node for decisions about tickets of a model. Thread-safe. */
public final class TicketWaiters {
  private final Map<String, TicketWaiters.WaitingTicket> byId = new LinkedHashMap<>();
  private final TreeSet<Due> deadlines =
      new TreeSet<>(
          (one, other) ->
              one.at() == other.at()
                  ? one.id().compareTo(other.id())
                  : Long.compare(one.at() - other.at(), 0));

  // Guarded by this.
  private long sequence;

  private record Due(long at, String id) {}

  /** The callers that wait for one ticket, and its place if that is known. */
  public static final class WaitingTicket {
    final List<CompletableFuture<Optional<TokenDecision>>> futures = new ArrayList<>(1);
    volatile @Nullable OpenTicket place;

    /** The time of the request, in microseconds of the clock of Redis. */
    private volatile long askedMicros;

    /** Completes when Redis has answered the call of the last waiter. */
    volatile CompletableFuture<?> registration = CompletableFuture.allOf();

    /** Replies to calls with lower numbers may be older than its first waiter. */
    private final long firstSequence;

    private @Nullable Due deadline;

    private WaitingTicket(long firstSequence) {
      this.firstSequence = firstSequence;
    }

    /** Completes all waiters; runs {@code undelivered} if they had all left before a grant. */
    void complete(Optional<TokenDecision> outcome, Runnable undelivered) {
      boolean delivered = false;
      for (CompletableFuture<Optional<TokenDecision>> each : futures) {
        delivered |= each.complete(outcome);
      }
      if (!delivered && outcome.orElse(null) instanceof TokenDecision.Granted) {
        undelivered.run();
      }
    }

    /** Sets the place of the ticket, and the time of its request, which orders tickets. */
    public void setPlace(OpenTicket known, long requestMicros) {
      askedMicros = requestMicros;
      place = known;
    }
  }

  /** Returns the number of the next call about waiters: Redis ignores calls with lower numbers. */
  synchronized long nextSequence() {
    return ++sequence;
  }

  public synchronized TicketWaiters.WaitingTicket add(
      String id, CompletableFuture<Optional<TokenDecision>> future) {
    TicketWaiters.WaitingTicket waiting =
        byId.computeIfAbsent(id, first -> new TicketWaiters.WaitingTicket(++sequence));
    waiting.futures.add(future);
    return waiting;
  }

  /** Removes one waiter of a ticket; returns the ticket if no waiter is left, else null. */
  synchronized TicketWaiters.@Nullable WaitingTicket remove(
      String id, CompletableFuture<Optional<TokenDecision>> future) {
    TicketWaiters.WaitingTicket waiting = byId.get(id);
    if (waiting == null
        || !waiting.futures.removeIf(each -> each == future)
        || !waiting.futures.isEmpty()) {
      return null;
    }
    return take(id);
  }

  synchronized TicketWaiters.@Nullable WaitingTicket find(String id) {
    return byId.get(id);
  }

  /**
   * Removes the waiters to whom a reply applies; returns null if there are none. An earlier caller
   * may have left between the call and its reply, which undoes the claim that the reply tells of.
   */
  synchronized TicketWaiters.@Nullable WaitingTicket take(String id, long sequence) {
    TicketWaiters.WaitingTicket waiting = byId.get(id);
    return waiting == null || waiting.firstSequence > sequence ? null : take(id);
  }

  /** Removes all waiters of a ticket; returns null if there are none. */
  synchronized TicketWaiters.@Nullable WaitingTicket take(String id) {
    TicketWaiters.WaitingTicket waiting = byId.remove(id);
    if (waiting != null && waiting.deadline != null) {
      deadlines.remove(waiting.deadline);
    }
    return waiting;
  }

  /** Sets the deadline of a ticket if a caller waits for it. */
  synchronized void setDeadline(String id, long at) {
    TicketWaiters.WaitingTicket waiting = byId.get(id);
    if (waiting != null) {
      if (waiting.deadline != null) {
        deadlines.remove(waiting.deadline);
      }
      waiting.deadline = new Due(at, id);
      deadlines.add(waiting.deadline);
    }
  }

  /** Returns the earliest deadline; null if there is none. */
  synchronized @Nullable Long firstDeadline() {
    return deadlines.isEmpty() ? null : deadlines.first().at();
  }

  /** Returns the tickets whose deadlines have passed, and removes these deadlines. */
  synchronized List<String> overdue(long now) {
    List<String> ids = new ArrayList<>();
    while (!deadlines.isEmpty() && deadlines.first().at() - now <= 0) {
      String id = deadlines.pollFirst().id();
      Objects.requireNonNull(byId.get(id)).deadline = null;
      ids.add(id);
    }
    return ids;
  }

  /** Returns the known places, in the order of their requests. */
  public synchronized List<OpenTicket> places() {
    return byId.values().stream()
        .sorted(Comparator.comparingLong(each -> each.askedMicros))
        .flatMap(each -> Stream.ofNullable(each.place))
        .toList();
  }

  synchronized List<String> ids() {
    return List.copyOf(byId.keySet());
  }

  /** Completes when Redis has answered the calls of all waiters. */
  synchronized CompletableFuture<Void> registrations() {
    return CompletableFuture.allOf(
        byId.values().stream().map(each -> each.registration).toArray(CompletableFuture<?>[]::new));
  }

  synchronized int size() {
    return byId.size();
  }
}
