package dev.sluice.governor;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Where a model's tokens are asked for: the line, its tickets, and what was granted and is not
 * settled. For any number of threads.
 */
final class ModelDesk {
  /*
   * Concurrency. Everything is guarded by `lock`; futures are completed outside of it. Time goes on
   * with every call, and by the timer, which is set for the next moment at which somebody can go or
   * something ends.
   */
  private static final long MILLI = 1_000_000L;

  private final String model;
  private final ModelBudget budget;
  private final DeskRules rules;
  private final GovernorTimer timer;
  private final Ids ids;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by lock.
  private final ModelLine line;
  private final Map<String, Integer> ranks = new LinkedHashMap<>();
  private final Map<String, TicketState> tickets = new HashMap<>();
  private final Map<Waiting, TicketState> places = new HashMap<>();
  private final Map<String, Grant> grants = new HashMap<>();
  private final Map<String, String> ticketOfKey = new HashMap<>();
  private final PriorityQueue<Ending> endings =
      new PriorityQueue<>(Comparator.comparingLong(Ending::at));
  private final List<TicketState> news = new ArrayList<>();
  private @Nullable Reservation atOnce;
  private long timerAt = Long.MAX_VALUE;
  private long total;
  private long accepted;
  private long consumed;
  private long refills;

  /** What was granted and is not settled. */
  private static final class Grant {
    final Reservation reservation;
    final @Nullable String key;
    long endsAt;

    Grant(Reservation reservation, @Nullable String key, long endsAt) {
      this.reservation = reservation;
      this.key = key;
      this.endsAt = endsAt;
    }
  }

  /** Something is to be looked at then. */
  private record Ending(long at, Runnable look) {}

  ModelDesk(
      String model,
      ModelBudget budget,
      DeskRules rules,
      GovernorTimer timer,
      Ids ids,
      BudgetListener listener) {
    this.model = model;
    this.budget = budget;
    this.rules = rules;
    this.timer = timer;
    this.ids = ids;
    this.line = new ModelLine(budget.limits(), timer.now());
    budget.classes().keySet().forEach(name -> ranks.put(name, ranks.size()));
  }

  /** Does it at this moment, then tells those who were granted something meanwhile. */
  private <T> T atDesk(Supplier<T> work) {
    List<TicketState> told;
    T result;
    lock.lock();
    try {
      long now = timer.now();
      if (line.advance(now)) {
        refills++;
      }
      endWhatIsOver(now);
      result = work.get();
      told = List.copyOf(news);
      news.clear();
      setTimer(now);
    } finally {
      lock.unlock();
    }
    for (TicketState ticket : told) {
      ticket.outcome.complete(ticket.decided);
    }
    return result;
  }

  private void setTimer(long now) {
    Ending next = endings.peek();
    long at = Math.min(line.wakeAt(), next == null ? Long.MAX_VALUE : next.at());
    if (at < timerAt) {
      timerAt = at;
      timer.after(
          Math.max(0, at - now),
          () ->
              atDesk(
                  () -> {
                    timerAt = Long.MAX_VALUE;
                    drain();
                    return true;
                  }));
    }
  }

  private void endWhatIsOver(long now) {
    for (Ending next = endings.peek(); next != null && next.at() <= now; next = endings.peek()) {
      endings.remove();
      next.look().run();
    }
  }

  private void lookAgainAt(long at, Runnable look) {
    endings.add(new Ending(at, look));
  }

  // ---- asking

  Outcome request(TokenRequest request) {
    int rank = rank(request);
    long tokens = granted(request);
    return atDesk(
        () -> {
          Outcome before = again(request);
          return before == null ? ask(request, demand(request, rank, tokens)) : before;
        });
  }

  private int rank(TokenRequest request) {
    Integer rank = ranks.get(request.priority());
    if (rank == null) {
      throw new IllegalArgumentException(
          "priority must be one of %s: %s".formatted(ranks.keySet(), request.priority()));
    }
    if (request.tokens() <= 0) {
      throw new IllegalArgumentException("tokens must be positive: " + request.tokens());
    }
    Duration deadline = request.deadline();
    if (deadline != null && (deadline.isNegative() || deadline.isZero())) {
      throw new IllegalArgumentException("deadline must be positive: " + deadline);
    }
    return rank;
  }

  /** What is granted in the end. */
  private long granted(TokenRequest request) {
    double share = Objects.requireNonNull(budget.classes().get(request.priority()));
    return budget.allocation() == Allocation.SCALE
        ? Math.max(1, (long) Math.floor(request.tokens() * share))
        : request.tokens();
  }

  private Demand demand(TokenRequest request, int rank, long tokens) {
    return new Demand(request.tenant(), budget.weight(request.tenant()), rank, tokens);
  }

  /** A request that was made before finds its place, or its grant. */
  private @Nullable Outcome again(TokenRequest request) {
    String key = key(request);
    String id = key == null ? null : ticketOfKey.get(key);
    TicketState ticket = id == null ? null : tickets.get(id);
    return ticket == null ? null : seen(ticket);
  }

  private static @Nullable String key(TokenRequest request) {
    return request.idempotencyKey() == null
        ? null
        : request.tenant() + '\n' + request.idempotencyKey();
  }

  private Outcome ask(TokenRequest request, Demand demand) {
    total++;
    long largest = line.largest(demand);
    if (demand.tokens() > largest) {
      return refused(
          request,
          Outcome.Reason.EXCEEDS_CAPACITY,
          "tokens must be at most %d for class %s: %d"
              .formatted(largest, request.priority(), demand.tokens()));
    }
    Waiting waiting = line.enter(demand, timer.now());
    atOnce = null;
    drain();
    Reservation reservation = atOnce;
    if (reservation != null) {
      accepted++;
      String key = key(request);
      Outcome.Granted outcome = keep(reservation, request);
      if (key != null) {
        remember(key, new TicketState(ids.next('t'), request, waiting, timer.now()), outcome);
      }
      return outcome;
    }
    if (line.waiting() > rules.maxLine()) {
      line.leave(waiting);
      return refused(
          request,
          Outcome.Reason.LINE_FULL,
          "at most %d may be in line for %s".formatted(rules.maxLine(), model));
    }
    return queue(request, waiting);
  }

  private Outcome.Refused refused(TokenRequest request, Outcome.Reason reason, String message) {
    return new Outcome.Refused(
        model, request.priority(), request.tokens(), line.available(), reason, message);
  }

  private Outcome queue(TokenRequest request, Waiting waiting) {
    long now = timer.now();
    TicketState ticket = new TicketState(ids.next('t'), request, waiting, now);
    tickets.put(ticket.id, ticket);
    places.put(waiting, ticket);
    String key = key(request);
    if (key != null) {
      ticketOfKey.put(key, ticket.id);
    }
    Duration deadline = request.deadline();
    if (deadline != null) {
      lookAgainAt(now + deadline.toNanos(), () -> giveUp(ticket, Outcome.Reason.DEADLINE));
    }
    watch(ticket);
    return standing(ticket);
  }

  private void remember(String key, TicketState ticket, Outcome outcome) {
    ticket.decided = outcome;
    tickets.put(ticket.id, ticket);
    ticketOfKey.put(key, ticket.id);
  }

  private Outcome.Granted keep(Reservation reservation, TokenRequest request) {
    String id = ids.next('r');
    long tokens = reservation.demand.tokens();
    consumed += tokens;
    Grant grant =
        new Grant(reservation, key(request), timer.now() + rules.reservationLife().toNanos());
    grants.put(id, grant);
    lookAgainAt(grant.endsAt, () -> endIfOver(id, grant));
    return new Outcome.Granted(
        model, request.priority(), tokens, request.tokens(), line.available(), id);
  }

  private void drain() {
    line.drain(timer.now(), this::granted);
  }

  private void granted(Waiting waiting, Reservation reservation) {
    TicketState ticket = places.remove(waiting);
    if (ticket == null) {
      atOnce = reservation;
      return;
    }
    ticket.decided = keep(reservation, ticket.request);
    ticket.seenAt = timer.now();
    news.add(ticket);
    if (!ticket.attended) {
      watch(ticket);
    }
  }

  // ---- tickets

  /** Nobody has asked for it for a while: it leaves, and what it was granted goes back. */
  private void watch(TicketState ticket) {
    lookAgainAt(
        ticket.seenAt + rules.ticketPatience().toNanos(),
        () -> {
          boolean over = ticket.seenAt + rules.ticketPatience().toNanos() <= timer.now();
          if (tickets.get(ticket.id) != ticket || ticket.attended) {
            return;
          }
          if (!over) {
            watch(ticket);
          } else if (ticket.decided == null) {
            giveUp(ticket, Outcome.Reason.ABANDONED);
            forget(ticket);
          } else {
            giveBack(ticket);
          }
        });
  }

  private void giveUp(TicketState ticket, Outcome.Reason why) {
    if (ticket.decided == null && line.leave(ticket.waiting)) {
      places.remove(ticket.waiting);
      ticket.decided =
          refused(ticket.request, why, why.inWords().formatted(rules.ticketPatience()));
      news.add(ticket);
      drain();
    }
  }

  private void giveBack(TicketState ticket) {
    forget(ticket);
    if (ticket.decided instanceof Outcome.Granted granted) {
      settle(granted.reservation(), 0);
    }
  }

  private void forget(TicketState ticket) {
    tickets.remove(ticket.id);
    String key = key(ticket.request);
    if (key != null) {
      ticketOfKey.remove(key, ticket.id);
    }
  }

  private Outcome seen(TicketState ticket) {
    ticket.seenAt = timer.now();
    Outcome decided = ticket.decided;
    if (decided == null) {
      return standing(ticket);
    }
    if (key(ticket.request) == null) {
      forget(ticket);
    }
    return decided;
  }

  private Outcome.Queued standing(TicketState ticket) {
    ModelLine.Place place = line.place(ticket.waiting);
    Held alone = line.alone(ticket.waiting.demand, timer.now());
    return new Outcome.Queued(
        model,
        ticket.request.priority(),
        ticket.request.tokens(),
        line.available(),
        alone == null || alone.nanos() == Held.UNKNOWN ? 0 : millis(alone.nanos()),
        place.position(),
        millis(place.nanos()),
        alone == null ? Dimension.LINE : alone.by(),
        ticket.id);
  }

  private static long millis(long nanos) {
    return Math.floorDiv(nanos + MILLI - 1, MILLI);
  }

  /** How it stands; claims what was granted. */
  Optional<Outcome> poll(String ticket) {
    return atDesk(() -> Optional.ofNullable(tickets.get(ticket)).map(this::seen));
  }

  /** Completes when it is decided; from now on it need not be asked for. */
  Optional<CompletableFuture<Outcome>> await(String id) {
    return atDesk(
        () ->
            Optional.ofNullable(tickets.get(id))
                .map(
                    ticket -> {
                      ticket.attended = true;
                      if (key(ticket.request) == null && ticket.decided != null) {
                        forget(ticket);
                      }
                      return ticket.outcome;
                    }));
  }

  /** Leaves the line, or gives back what was granted and not claimed. False if there is none. */
  boolean cancel(String id) {
    return atDesk(
        () -> {
          TicketState ticket = tickets.get(id);
          if (ticket == null) {
            return false;
          }
          if (ticket.decided == null) {
            giveUp(ticket, Outcome.Reason.CANCELLED);
            forget(ticket);
          } else {
            giveBack(ticket);
          }
          return true;
        });
  }

  // ---- reservations

  /** Empty if there is no such reservation any more. */
  Optional<Settlement> settleOnce(String id, long actual) {
    if (actual < 0) {
      throw new IllegalArgumentException("actual tokens must not be negative: " + actual);
    }
    return atDesk(() -> settle(id, actual));
  }

  private Optional<Settlement> settle(String id, long actual) {
    Grant grant = grants.remove(id);
    if (grant == null) {
      return Optional.empty();
    }
    long back = line.settle(grant.reservation, actual);
    consumed -= back;
    over(grant);
    drain();
    long reserved = grant.reservation.demand.tokens();
    return Optional.of(
        new Settlement(
            model,
            grant.reservation.demand.tenant(),
            reserved,
            reserved,
            actual,
            Math.max(0, back),
            Math.max(0, actual - reserved)));
  }

  /** It lives as long again from now. False if it is over. */
  boolean extend(String id) {
    return atDesk(
        () -> {
          Grant grant = grants.get(id);
          if (grant == null) {
            return false;
          }
          grant.endsAt = timer.now() + rules.reservationLife().toNanos();
          return true;
        });
  }

  private void endIfOver(String id, Grant grant) {
    if (grants.get(id) != grant) {
      return;
    }
    if (grant.endsAt > timer.now()) {
      lookAgainAt(grant.endsAt, () -> endIfOver(id, grant));
    } else {
      grants.remove(id);
      line.abandon(grant.reservation);
      over(grant);
      drain();
    }
  }

  private void over(Grant grant) {
    String ticket = grant.key == null ? null : ticketOfKey.remove(grant.key);
    if (ticket != null) {
      tickets.remove(ticket);
    }
  }

  // ---- how it stands

  Counts counts() {
    return atDesk(() -> new Counts(total, accepted, total - accepted, consumed, refills));
  }

  GovernorStatus.Model status() {
    return atDesk(
        () ->
            new GovernorStatus.Model(
                model,
                budget.burstTpm(),
                line.available(),
                budget.targetTpm(),
                java.time.Instant.now(),
                queueLengths(),
                line.running(),
                new Counts(total, accepted, total - accepted, consumed, refills),
                new AuditReport(0, 0, 0, 0),
                ProviderStanding.UNHEARD,
                List.of()));
  }

  long available() {
    return atDesk(line::available);
  }

  Map<String, Integer> queueLengths() {
    return atDesk(
        () -> {
          Map<String, Integer> lengths = new LinkedHashMap<>();
          ranks.forEach((name, rank) -> lengths.put(name, line.waiting(rank)));
          return lengths;
        });
  }

  int running() {
    return atDesk(line::running);
  }
}
