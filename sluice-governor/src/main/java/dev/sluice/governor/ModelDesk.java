package dev.sluice.governor;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
  private static final Logger LOG = LoggerFactory.getLogger(ModelDesk.class);

  private final String model;
  private final GovernorTimer timer;
  private final BudgetListener listener;
  private final Ids ids;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by lock.
  private ModelBudget budget;
  private DeskRules rules;
  private ModelLine line;
  private Map<String, Integer> ranks = Map.of();
  private DeskLog log = DeskLog.NONE;
  private final TicketBook tickets = new TicketBook();
  private final GrantBook grants = new GrantBook();
  private final List<News> news = new ArrayList<>();
  private volatile @Nullable String closed;

  /** Of the call that is being answered. */
  private long now;

  private long timerAt = Long.MAX_VALUE;
  private long numbers;
  private long total;
  private long accepted;
  private long consumed;
  private long refills;
  private long refilledAt;

  ModelDesk(
      String model,
      ModelBudget budget,
      DeskRules rules,
      GovernorTimer timer,
      BudgetListener listener) {
    this.model = model;
    this.budget = budget;
    this.rules = rules;
    this.timer = timer;
    this.listener = listener;
    this.ids = new Ids(model);
    this.now = timer.now();
    this.refilledAt = now;
    this.line = new ModelLine(budget.limits(), now);
    setRanks();
  }

  private void setRanks() {
    Map<String, Integer> numbered = new LinkedHashMap<>();
    budget.classes().keySet().forEach(name -> numbered.put(name, numbered.size()));
    ranks = numbered;
  }

  /** What those who wait for a ticket are to be told, once the lock is free. */
  private record News(
      TicketState ticket, Outcome outcome, List<CompletableFuture<Optional<Outcome>>> waiters) {}

  /** Makes a log of what is in the books of this desk, which are filled from it first. */
  interface LogOpener {
    DeskLog open(DeskJournal.Books books, long now);
  }

  /** Goes on from what was written down, and writes down what comes. */
  void keep(LogOpener opener) {
    atDesk(
        () -> {
          long life = rules.reservationLife().toNanos();
          log = opener.open(new DeskJournal.Books(model, budget, line, grants, tickets, life), now);
          return true;
        });
  }

  /** Does it at this moment, then tells those who were granted something meanwhile. */
  private <T> T atDesk(Supplier<T> work) {
    List<News> told = List.of();
    T result;
    lock.lock();
    try {
      if (closed != null) {
        throw new IllegalStateException(closed);
      }
      now = timer.now();
      refill();
      endWhatIsOver();
      result = work.get();
      log.tidy(line, grants, now);
      if (!news.isEmpty()) {
        told = List.copyOf(news);
        news.clear();
      }
      setTimer();
    } catch (UncheckedIOException failure) {
      breakDown(failure);
      throw failure;
    } finally {
      lock.unlock();
    }
    told.forEach(this::tell);
    return result;
  }

  /** What cannot be written down must not be granted. */
  private void breakDown(UncheckedIOException failure) {
    closed = "model %s is closed: %s".formatted(model, failure.getMessage());
    LOG.error("model {} is closed, nothing is granted any more", model, failure);
    tickets
        .waiters()
        .forEach(
            waiter -> waiter.completeExceptionally(new IllegalStateException(closed, failure)));
  }

  private void refill() {
    long before = line.available();
    line.advance(now);
    long more = line.available() - before;
    if (more > 0) {
      refills++;
      refilledAt = now;
      listener.refilled(model, more, before + more, now);
    }
  }

  private void setTimer() {
    long at = Math.min(grants.nextEnd(), tickets.nextEnd(rules.ticketPatience().toNanos()));
    if (line.waiting() > 0) {
      at = Math.min(at, Math.min(line.wakeAt(), now + rules.refillInterval().toNanos()));
    }
    if (at < timerAt) {
      timerAt = at;
      long due = at;
      timer.after(Math.max(0, due - now), () -> wake(due));
    }
  }

  private void wake(long due) {
    if (closed == null) {
      atDesk(
          () -> {
            // One that an earlier one replaced must not be set again, or they become ever more.
            timerAt = timerAt == due ? Long.MAX_VALUE : timerAt;
            drain();
            return true;
          });
    }
  }

  private void endWhatIsOver() {
    boolean ended = false;
    for (Grant over = grants.over(now); over != null; over = grants.over(now)) {
      grants.remove(over.id());
      line.abandon(over.reservation);
      log.ended(over.id(), now);
      forgetTicketOf(over);
      ended = true;
    }
    for (TicketState late = tickets.late(now); late != null; late = tickets.late(now)) {
      giveUp(late, Outcome.Reason.DEADLINE);
      ended = true;
    }
    long patience = rules.ticketPatience().toNanos();
    for (TicketState lost = tickets.missed(patience, now);
        lost != null;
        lost = tickets.missed(patience, now)) {
      giveUp(lost, Outcome.Reason.ABANDONED);
      giveBack(lost);
      ended = true;
    }
    if (ended) {
      drain();
    }
  }

  /** Not under the lock: whoever waits may do anything. */
  private void tell(News told) {
    boolean heard = false;
    for (CompletableFuture<Optional<Outcome>> waiter : told.waiters()) {
      heard |= waiter.complete(Optional.of(told.outcome()));
    }
    if (!heard && closed == null) {
      atDesk(() -> unheard(told.ticket()));
    }
  }

  /** Those who waited had gone in the same moment: somebody may still come and ask. */
  private boolean unheard(TicketState ticket) {
    ticket.claimed = false;
    tickets.seen(ticket, now);
    return true;
  }

  // ---- asking

  Outcome request(TokenRequest request) {
    return atDesk(
        () -> {
          Demand demand = demand(request);
          Outcome before = again(request);
          if (before != null) {
            return before;
          }
          Outcome outcome = ask(request, demand);
          total++;
          listener.asked(request, outcome, now);
          return outcome;
        });
  }

  /** Granted at once, or nothing happened. */
  Optional<Outcome> tryNow(TokenRequest request) {
    return atDesk(
        () -> {
          Demand demand = demand(request);
          Outcome before = again(request);
          if (before != null) {
            return Optional.of(before);
          }
          Outcome granted =
              demand.tokens() > line.largest(demand) ? null : grantNow(request, demand);
          if (granted != null) {
            total++;
            listener.asked(request, granted, now);
          }
          return Optional.ofNullable(granted);
        });
  }

  Optional<Outcome> find(TokenRequest request) {
    return atDesk(() -> Optional.ofNullable(again(request)));
  }

  private Demand demand(TokenRequest request) {
    Integer rank = ranks.get(request.priority());
    if (rank == null) {
      throw new IllegalArgumentException(
          "priority must be one of %s: %s".formatted(ranks.keySet(), request.priority()));
    }
    return new Demand(request.tenant(), budget.weight(request.tenant()), rank, reserved(request));
  }

  /** What is granted in the end. */
  private long reserved(TokenRequest request) {
    Long expected = request.expectedTokens();
    long wanted = expected == null ? request.tokens() : expected;
    return budget.allocation() == Allocation.SCALE
        ? ModelBudget.part(budget.share(request.priority()), wanted)
        : wanted;
  }

  /** A request that was made before finds its place, or its grant. */
  private @Nullable Outcome again(TokenRequest request) {
    TicketState ticket = tickets.ofKey(request);
    if (ticket == null) {
      return null;
    }
    TokenRequest before = ticket.request;
    if (before.tokens() != request.tokens() || !before.priority().equals(request.priority())) {
      throw new IllegalArgumentException(
          "idempotency key %s must be of one request: it was of %d tokens as %s, not of %d as %s"
              .formatted(
                  request.idempotencyKey(),
                  before.tokens(),
                  before.priority(),
                  request.tokens(),
                  request.priority()));
    }
    return seen(ticket);
  }

  private Outcome ask(TokenRequest request, Demand demand) {
    long largest = line.largest(demand);
    if (demand.tokens() > largest) {
      return refused(
          request,
          Outcome.Reason.EXCEEDS_CAPACITY,
          "tokens must be at most %d for class %s: %d"
              .formatted(largest, request.priority(), demand.tokens()));
    }
    Outcome granted = grantNow(request, demand);
    if (granted != null) {
      return granted;
    }
    if (line.waiting() >= rules.maxLine()) {
      return refused(
          request,
          Outcome.Reason.LINE_FULL,
          "at most %d may be in line for %s".formatted(rules.maxLine(), model));
    }
    return queue(request, demand);
  }

  private @Nullable Outcome grantNow(TokenRequest request, Demand demand) {
    if (line.waiting() > 0) {
      drain();
    }
    if (line.wouldHold(demand, now) != null) {
      return null;
    }
    accepted++;
    TicketState ticket = null;
    if (request.idempotencyKey() != null) {
      ticket = ticket(request);
      ticket.claimed = true;
    }
    Outcome.Granted granted = hold(line.grantNow(demand, now), request, ticket, 0);
    if (ticket != null) {
      ticket.decided = granted;
      tickets.add(ticket);
    }
    return granted;
  }

  private TicketState ticket(TokenRequest request) {
    Duration deadline = request.deadline();
    return new TicketState(
        ids.next('t'),
        request,
        numbers++,
        deadline == null ? TicketState.NO_DEADLINE : now + deadline.toNanos(),
        now);
  }

  private Outcome.Refused refused(TokenRequest request, Outcome.Reason reason, String message) {
    return new Outcome.Refused(
        model, request.priority(), request.tokens(), line.available(), reason, message);
  }

  private Outcome queue(TokenRequest request, Demand demand) {
    TicketState ticket = ticket(request);
    tickets.add(ticket);
    tickets.place(ticket, line.enter(demand, now));
    drain();
    return seen(ticket);
  }

  private Outcome.Granted hold(
      Reservation reservation,
      TokenRequest request,
      @Nullable TicketState ticket,
      long waitedNanos) {
    long tokens = reservation.demand.tokens();
    Outcome.Granted answer =
        new Outcome.Granted(
            model, request.priority(), tokens, request.tokens(), line.available(), ids.next('r'));
    Grant grant = new Grant(answer, reservation, ticket, now + rules.reservationLife().toNanos());
    grants.add(grant);
    log.granted(grant);
    consumed += tokens;
    listener.granted(request, tokens, waitedNanos, now);
    return answer;
  }

  private void drain() {
    line.drain(now, rules.drainBatch(), this::granted);
  }

  private void granted(Waiting waiting, Reservation reservation) {
    TicketState ticket = Objects.requireNonNull(tickets.leave(waiting));
    decide(ticket, hold(reservation, ticket.request, ticket, now - waiting.since));
  }

  private void decide(TicketState ticket, Outcome outcome) {
    ticket.decided = outcome;
    ticket.claimed = !ticket.waiters.isEmpty();
    if (ticket.claimed) {
      news.add(new News(ticket, outcome, List.copyOf(ticket.waiters)));
      ticket.waiters.clear();
    }
    tickets.seen(ticket, now);
  }

  // ---- tickets

  private void giveUp(TicketState ticket, Outcome.Reason why) {
    Waiting waiting = ticket.waiting;
    if (ticket.decided == null && waiting != null && line.leave(waiting)) {
      tickets.leave(waiting);
      decide(ticket, refused(ticket.request, why, why.inWords().formatted(rules.ticketPatience())));
    }
  }

  private void giveBack(TicketState ticket) {
    tickets.forget(ticket);
    if (ticket.decided instanceof Outcome.Granted granted) {
      settleAtDesk(granted.reservation(), 0);
    }
  }

  private Outcome seen(TicketState ticket) {
    Outcome decided = ticket.decided;
    ticket.claimed |= decided != null;
    tickets.seen(ticket, now);
    return decided == null ? standing(ticket) : decided;
  }

  private Outcome.Queued standing(TicketState ticket) {
    Waiting waiting = Objects.requireNonNull(ticket.waiting);
    ModelLine.Place place = line.place(waiting, now);
    Held alone = line.alone(waiting.demand, now);
    return new Outcome.Queued(
        model,
        ticket.request.priority(),
        ticket.request.tokens(),
        line.available(),
        alone == null ? 0 : Explaining.millis(alone.nanos(), 0),
        place.position(),
        Explaining.millis(place.nanos(), 0),
        alone == null ? Dimension.LINE : alone.by(),
        ticket.id);
  }

  /** How it stands; claims what was granted. */
  Optional<Outcome> poll(String ticket) {
    return atDesk(() -> Optional.ofNullable(tickets.find(ticket)).map(this::seen));
  }

  /** Completes when it is decided; meanwhile nobody need ask for it. */
  CompletableFuture<Optional<Outcome>> await(String id) {
    CompletableFuture<Optional<Outcome>> waiter = new CompletableFuture<>();
    Optional<Outcome> known =
        atDesk(
            () -> {
              TicketState ticket = tickets.find(id);
              if (ticket == null) {
                waiter.complete(Optional.empty());
              } else if (ticket.decided != null) {
                return Optional.of(seen(ticket));
              } else {
                ticket.waiters.add(waiter);
                tickets.watch(ticket);
              }
              return Optional.empty();
            });
    if (known.isPresent()) {
      waiter.complete(known);
    }
    var unused =
        waiter.whenComplete(
            (outcome, failure) -> {
              if (failure != null && closed == null) {
                gone(id, waiter);
              }
            });
    return waiter;
  }

  /** Does not wait any longer: the ticket must be asked for again. */
  private void gone(String id, CompletableFuture<Optional<Outcome>> waiter) {
    atDesk(
        () -> {
          TicketState ticket = tickets.find(id);
          if (ticket != null && ticket.waiters.remove(waiter) && ticket.decided == null) {
            tickets.seen(ticket, now);
          }
          return true;
        });
  }

  /** Leaves the line, or gives back what was granted. False if there is none. */
  boolean cancel(String id) {
    return atDesk(
        () -> {
          TicketState ticket = tickets.find(id);
          if (ticket == null) {
            return false;
          }
          giveUp(ticket, Outcome.Reason.CANCELLED);
          giveBack(ticket);
          drain();
          return true;
        });
  }

  // ---- reservations

  /** Empty if there is no such reservation any more. */
  Optional<Settlement> settle(String id, long actual) {
    return atDesk(
        () -> {
          Optional<Settlement> settled = settleAtDesk(id, actual);
          drain();
          return settled;
        });
  }

  private Optional<Settlement> settleAtDesk(String id, long actual) {
    Grant grant = grants.remove(id);
    if (grant == null) {
      return Optional.empty();
    }
    long back = line.settle(grant.reservation, actual);
    log.settled(id, actual, now);
    consumed -= back;
    forgetTicketOf(grant);
    long reserved = grant.reservation.demand.tokens();
    Settlement settled =
        new Settlement(
            model,
            grant.tenant(),
            grant.answer.requestedTokens(),
            reserved,
            actual,
            Math.max(0, back),
            Math.max(0, actual - reserved));
    listener.settled(settled, grant.reservation.grantedAt, now);
    return Optional.of(settled);
  }

  private void forgetTicketOf(Grant grant) {
    if (grant.ticket != null) {
      tickets.forget(grant.ticket);
    }
  }

  /** It lives as long again from now. False if it is over. */
  boolean extend(String id) {
    return atDesk(
        () -> {
          Grant grant = grants.find(id);
          if (grant == null) {
            return false;
          }
          grants.extend(grant, now + rules.reservationLife().toNanos());
          log.extended(grant);
          return true;
        });
  }

  // ---- other rules

  void adjust(Adjustment adjustment) {
    atDesk(
        () -> {
          line.slow(adjustment.factor(), now);
          Long most = adjustment.tokensAtMost();
          if (most != null) {
            line.lowerTo(most);
          }
          if (!adjustment.pause().isZero()) {
            line.pause(now + adjustment.pause().toNanos());
          }
          drain();
          return true;
        });
  }

  /** Goes by another budget. Whoever cannot be in line any more is refused. */
  void reload(ModelBudget newBudget, DeskRules newRules) {
    atDesk(
        () -> {
          ModelLine before = line;
          line = before.successor(newBudget.limits(), now);
          budget = newBudget;
          rules = newRules;
          setRanks();
          grants.endBy(now + newRules.reservationLife().toNanos());
          for (Waiting waiting : before.inOrder()) {
            TicketState ticket = Objects.requireNonNull(tickets.leave(waiting));
            comeAgain(ticket, waiting.since);
          }
          drain();
          return true;
        });
  }

  private void comeAgain(TicketState ticket, long since) {
    TokenRequest request = ticket.request;
    if (!ranks.containsKey(request.priority())) {
      decide(ticket, refused(request, Outcome.Reason.REMOVED, Outcome.Reason.REMOVED.inWords()));
      return;
    }
    Demand demand = demand(request);
    if (demand.tokens() > line.largest(demand)) {
      decide(
          ticket,
          refused(
              request, Outcome.Reason.EXCEEDS_CAPACITY, Outcome.Reason.EXCEEDS_CAPACITY.inWords()));
      return;
    }
    tickets.place(ticket, line.enter(demand, since));
  }

  /** Nobody may be in line any more; what was granted can still be settled. */
  void refuseAll(Outcome.Reason why) {
    atDesk(
        () -> {
          for (Waiting waiting : line.inOrder()) {
            TicketState ticket = Objects.requireNonNull(tickets.leave(waiting));
            line.leave(waiting);
            decide(ticket, refused(ticket.request, why, why.inWords()));
          }
          return true;
        });
  }

  /** Nothing is decided here any more, and whoever is in line is told so. */
  void close() {
    if (closed == null) {
      refuseAll(Outcome.Reason.CLOSED);
    }
    lock.lock();
    try {
      if (closed == null) {
        closed = "the governor is closed";
      }
      log.close();
    } finally {
      lock.unlock();
    }
  }

  // ---- how it stands

  Explanation explain(TokenRequest request) {
    return atDesk(
        () -> {
          drain();
          return Explaining.of(request, demand(request), line, rules.maxLine(), now);
        });
  }

  GovernorStatus.Model status() {
    return atDesk(
        () ->
            new GovernorStatus.Model(
                model,
                budget.burstTpm(),
                line.available(),
                budget.targetTpm(),
                Instant.now().minusNanos(now - refilledAt),
                queueLengths(),
                line.running(),
                new Counts(total, accepted, total - accepted, consumed, refills),
                AuditReport.NONE,
                ProviderStanding.UNHEARD,
                List.of()));
  }

  private Map<String, Integer> queueLengths() {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    ranks.forEach((name, rank) -> lengths.put(name, line.waiting(rank)));
    return lengths;
  }
}
