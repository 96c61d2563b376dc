package dev.sluice.governor.redis.store;

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
  private long turns;

  private record Due(long at, String id) {}

  /** Those who wait for one ticket, and its place, as far as that is known. */
  public static final class WaitingTicket {
    final List<CompletableFuture<Optional<TokenDecision>>> futures = new ArrayList<>(1);
    volatile @Nullable OpenTicket place;

    /** When it was asked for, in microseconds of the clock of Redis. */
    private volatile long order;

    /** Done when Redis has answered the last who came. */
    volatile CompletableFuture<?> arrival = CompletableFuture.allOf();

    private @Nullable Due deadline;

    private WaitingTicket() {}

    /** Tells all; runs {@code unheard} if it is a grant, and everyone has gone. */
    void complete(Optional<TokenDecision> outcome, Runnable unheard) {
      boolean heard = false;
      for (CompletableFuture<Optional<TokenDecision>> each : futures) {
        heard |= each.complete(outcome);
      }
      if (!heard && outcome.orElse(null) instanceof TokenDecision.Granted) {
        unheard.run();
      }
    }

    /** Its place is known; {@code number} puts it before those with a higher one. */
    public void stands(OpenTicket known, long number) {
      order = number;
      place = known;
    }
  }

  /** Returns the number of the next statement to Redis about waiters: a later one replaces it. */
  synchronized String nextTurn() {
    return Long.toString(++turns);
  }

  public synchronized TicketWaiters.WaitingTicket add(
      String id, CompletableFuture<Optional<TokenDecision>> future) {
    TicketWaiters.WaitingTicket waiting =
        byId.computeIfAbsent(id, first -> new TicketWaiters.WaitingTicket());
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

  /** They are to be told. */
  synchronized TicketWaiters.@Nullable WaitingTicket take(String id) {
    TicketWaiters.WaitingTicket waiting = byId.remove(id);
    if (waiting != null && waiting.deadline != null) {
      deadlines.remove(waiting.deadline);
    }
    return waiting;
  }

  /** That ticket, if somebody waits for it, is to be decided by then. */
  synchronized void decideBy(String id, long at) {
    TicketWaiters.WaitingTicket waiting = byId.get(id);
    if (waiting != null) {
      if (waiting.deadline != null) {
        deadlines.remove(waiting.deadline);
      }
      waiting.deadline = new Due(at, id);
      deadlines.add(waiting.deadline);
    }
  }

  /** When the first is to be decided; null for never. */
  synchronized @Nullable Long firstDeadline() {
    return deadlines.isEmpty() ? null : deadlines.first().at();
  }

  /** Those that should have been decided by now, once. */
  synchronized List<String> overdue(long now) {
    List<String> ids = new ArrayList<>();
    while (!deadlines.isEmpty() && deadlines.first().at() - now <= 0) {
      String id = deadlines.pollFirst().id();
      Objects.requireNonNull(byId.get(id)).deadline = null;
      ids.add(id);
    }
    return ids;
  }

  /** The places that are known, in the order in which they were asked for. */
  public synchronized List<OpenTicket> places() {
    return byId.values().stream()
        .sorted(Comparator.comparingLong(each -> each.order))
        .flatMap(each -> Stream.ofNullable(each.place))
        .toList();
  }

  synchronized List<String> ids() {
    return List.copyOf(byId.keySet());
  }

  /** Done when Redis has answered all who came. */
  synchronized CompletableFuture<Void> arrivals() {
    return CompletableFuture.allOf(
        byId.values().stream().map(each -> each.arrival).toArray(CompletableFuture<?>[]::new));
  }

  synchronized int size() {
    return byId.size();
  }
}
