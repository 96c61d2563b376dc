package dev.sluice.governor;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Applies requests to one model, one at a time: keeps its line, its tickets, and what was granted
 * and is not settled. Time is what {@link #begin} was told. Not thread-safe.
 */
final class Clerk {
  private final String model;
  private final Ids ids;
  private final Tally tally;
  private final TicketBook tickets = new TicketBook();
  private final GrantBook grants = new GrantBook();
  private final List<News> news = new ArrayList<>();
  private ModelBudget budget;
  private DeskRules rules;
  private ModelLine line;
  private Map<String, Integer> ranks = Map.of();
  private String lineFull = ""; // formatted once: under overload it is the most frequent answer
  private DeskLog log = DeskLog.NONE;
  private long now;
  private long numbers;

  /** What those who wait for a ticket are to be told. */
  record News(
      TicketState ticket, Outcome outcome, List<CompletableFuture<Optional<Outcome>>> waiters) {}

  /** Makes a log, and fills the books with what is in it first. */
  interface LogOpener {
    DeskLog open(DeskJournal.Books books, long now);
  }

  Clerk(String model, ModelBudget budget, DeskRules rules, BudgetListener listener, long now) {
    this.model = model;
    this.budget = budget;
    this.rules = rules;
    this.ids = new Ids(model);
    this.now = now;
    this.line = new ModelLine(budget.limits(), now);
    this.tally = new Tally(model, listener, line.available(), now);
    setRules();
  }

  private void setRules() {
    Map<String, Integer> numbered = new LinkedHashMap<>();
    budget.classes().keySet().forEach(name -> numbered.put(name, numbered.size()));
    ranks = numbered;
    lineFull = StoreTerms.lineFull(rules.maxLine(), model);
  }

  /** Goes on from what was written down, and writes down what comes. */
  void keep(LogOpener opener) {
    long life = rules.reservationLife().toNanos();
    log = opener.open(new DeskJournal.Books(model, budget, line, grants, tickets, life), now);
    tally.leaves(line.available());
    if (line.waiting() > 0) {
      drain();
    }
  }

  /** It is that late: what is over ends. */
  void begin(long at) {
    now = at;
    line.advance(now);
    endWhatIsOver();
  }

  /** What is to be told of all that was done. */
  List<News> takeNews() {
    List<News> told = List.copyOf(news);
    news.clear();
    return told;
  }

  /** What is over need not be kept on the disk. */
  void tidy() {
    log.tidy(line, grants, now);
  }

  /** When something will be over, or somebody can go. */
  long nextLook() {
    long at = Math.min(grants.nextEnd(), tickets.nextEnd(rules.ticketPatience().toNanos()));
    return line.waiting() == 0
        ? at
        : Math.min(at, Math.min(line.wakeAt(), now + rules.refillInterval().toNanos()));
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
      if (lost.decided == null) {
        // Who comes late learns why, for as long again.
        giveUp(lost, Outcome.Reason.ABANDONED);
      } else {
        giveBack(lost);
      }
      ended = true;
    }
    if (ended) {
      drain();
    }
  }

  /** Grants whatever can go now. */
  void drain() {
    tally.decides(line.available(), now);
    line.drain(now, rules.drainBatch(), this::granted);
  }

  // ---- asking

  Outcome request(TokenRequest request) {
    Demand demand = demand(request);
    Outcome before = again(request);
    if (before != null) {
      return before;
    }
    Outcome atOnce = demand.tokens() > line.largest(demand) ? null : grantNow(request, demand);
    Outcome outcome = atOnce == null ? refuseOrQueue(request, demand) : atOnce;
    tally.asked(request, outcome, atOnce != null, now);
    return outcome;
  }

  /** Granted at once, or nothing happened. */
  Optional<Outcome> tryNow(TokenRequest request) {
    Demand demand = demand(request);
    Outcome before = again(request);
    if (before != null) {
      return Optional.of(before);
    }
    Outcome granted = demand.tokens() > line.largest(demand) ? null : grantNow(request, demand);
    if (granted != null) {
      tally.asked(request, granted, true, now);
    }
    return Optional.ofNullable(granted);
  }

  Optional<Outcome> find(TokenRequest request) {
    return Optional.ofNullable(again(request));
  }

  private Demand demand(TokenRequest request) {
    Integer rank = ranks.get(request.priority());
    if (rank == null) {
      throw StoreTerms.unknownClass(ranks.keySet(), request.priority());
    }
    return new Demand(
        request.tenant(), budget.weight(request.tenant()), rank, budget.reserved(request));
  }

  /** A request that was made before finds its place, or its grant. */
  private @Nullable Outcome again(TokenRequest request) {
    TicketState ticket = tickets.ofKey(request);
    if (ticket == null) {
      return null;
    }
    ticket.requireSame(request);
    return seen(ticket);
  }

  private Outcome refuseOrQueue(TokenRequest request, Demand demand) {
    long largest = line.largest(demand);
    if (demand.tokens() > largest) {
      return refused(
          request,
          Outcome.Reason.EXCEEDS_CAPACITY,
          StoreTerms.tooMany(largest, request.priority(), demand.tokens()));
    }
    if (tickets.isFullFor(request.tenant(), rules.maxLine())) {
      return refused(request, Outcome.Reason.LINE_FULL, lineFull);
    }
    return queue(request, demand);
  }

  private @Nullable Outcome grantNow(TokenRequest request, Demand demand) {
    if (line.waiting() > 0) {
      drain();
    } else {
      tally.decides(line.available(), now);
    }
    if (line.wouldHold(demand, now) != null) {
      return null;
    }
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
    if (line.waiting() > 0) {
      // Those in line may wait for something else now, such as the slot that it took.
      drain();
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

  private Outcome.Refused refused(TokenRequest request, Outcome.Reason reason) {
    return refused(request, reason, StoreTerms.inWords(reason, rules));
  }

  private Outcome.Refused refused(TokenRequest asked, Outcome.Reason reason, String message) {
    long left = line.available();
    return new Outcome.Refused(model, asked.priority(), asked.tokens(), left, reason, message);
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
    String id = ticket == null ? ids.next('r') : ids.reservationOf(ticket.id);
    Outcome.Granted answer =
        new Outcome.Granted(
            model, request.priority(), tokens, request.tokens(), line.available(), id);
    Grant grant = new Grant(answer, reservation, ticket, now + rules.reservationLife().toNanos());
    grants.add(grant);
    log.granted(grant);
    tally.granted(request, tokens, waitedNanos, now);
    tally.leaves(line.available());
    return answer;
  }

  private void granted(Waiting waiting, Reservation reservation) {
    TicketState ticket = Objects.requireNonNull(tickets.leave(waiting));
    decide(ticket, hold(reservation, ticket.request, ticket, now - waiting.since));
  }

  private void decide(TicketState ticket, Outcome outcome) {
    ticket.decided = outcome;
    ticket.claimed = !ticket.waiters.isEmpty();
    ticket.onlyWaited = true;
    if (ticket.claimed) {
      news.add(new News(ticket, outcome, List.copyOf(ticket.waiters)));
      ticket.waiters.clear();
    }
    tickets.seen(ticket, now);
    tickets.decided(ticket);
  }

  // ---- tickets

  private void giveUp(TicketState ticket, Outcome.Reason why) {
    Waiting waiting = ticket.waiting;
    if (ticket.decided == null && waiting != null && line.leave(waiting)) {
      tickets.leave(waiting);
      decide(ticket, refused(ticket.request, why));
    }
  }

  private void giveBack(TicketState ticket) {
    tickets.forget(ticket);
    if (ticket.decided instanceof Outcome.Granted granted) {
      end(granted.reservation(), 0);
    }
  }

  private Outcome seen(TicketState ticket) {
    Outcome decided = ticket.decided;
    ticket.claimed |= decided != null;
    ticket.onlyWaited = false;
    if (!(decided instanceof Outcome.Refused)) {
      tickets.seen(ticket, now);
    }
    return decided == null ? Explaining.standing(ticket, line, now) : decided;
  }

  /** How it stands; claims what was granted. */
  Optional<Outcome> poll(String ticket) {
    return Optional.ofNullable(tickets.find(ticket)).map(this::seen);
  }

  /** How it stands; who waits will be told by {@link News}, and need not ask meanwhile. */
  Optional<Outcome> attend(String id, CompletableFuture<Optional<Outcome>> waiter) {
    TicketState ticket = tickets.find(id);
    if (ticket == null) {
      return Optional.empty();
    }
    if (ticket.decided == null) {
      ticket.waiters.add(waiter);
    }
    return Optional.of(seen(ticket));
  }

  /** Does not wait any longer: the ticket must be asked for again. */
  void leave(String id, CompletableFuture<Optional<Outcome>> waiter) {
    TicketState ticket = tickets.find(id);
    if (ticket == null) {
      return;
    }
    if (ticket.waiters.removeIf(each -> each == waiter) && ticket.decided == null) {
      tickets.seen(ticket, now);
    }
  }

  /** Those who waited had gone in the same moment: somebody may still come and ask. */
  void unheard(String id) {
    TicketState ticket = tickets.find(id);
    if (ticket != null && ticket.onlyWaited) {
      ticket.claimed = false;
      tickets.seen(ticket, now);
    }
  }

  List<CompletableFuture<Optional<Outcome>>> waiters() {
    return tickets.waiters();
  }

  /** Leaves the line, or gives back what was granted. False if there is none. */
  boolean cancel(String id) {
    TicketState ticket = tickets.find(id);
    if (ticket == null) {
      return false;
    }
    giveUp(ticket, Outcome.Reason.CANCELLED);
    giveBack(ticket);
    drain();
    return true;
  }

  // ---- reservations

  /** Empty if there is no such reservation any more. */
  Optional<Settlement> settle(String id, long actual) {
    Optional<Settlement> settled = end(id, actual);
    if (settled.isPresent()) {
      drain();
    }
    return settled;
  }

  private Optional<Settlement> end(String id, long actual) {
    Grant grant = grants.remove(id);
    if (grant == null) {
      return Optional.empty();
    }
    tally.decides(line.available(), now);
    long back = line.settle(grant.reservation, actual);
    tally.leaves(line.available());
    Settlement settled =
        Settlement.of(
            model,
            grant.tenant(),
            grant.answer.requestedTokens(),
            grant.reservation.demand.tokens(),
            actual,
            back);
    log.settled(id, settled.chargedTokens(), now);
    forgetTicketOf(grant);
    tally.settled(settled, grant.reservation.grantedAt, now);
    return Optional.of(settled);
  }

  private void forgetTicketOf(Grant grant) {
    if (grant.ticket != null) {
      tickets.forget(grant.ticket);
    }
  }

  /** It lives as long again from now. False if it is over. */
  boolean extend(String id) {
    Grant grant = grants.find(id);
    if (grant == null) {
      return false;
    }
    grants.extend(grant, now + rules.reservationLife().toNanos());
    log.extended(grant);
    return true;
  }

  // ---- other rules

  void adjust(Adjustment adjustment) {
    line.slow(adjustment.factor(), now);
    Long most = adjustment.tokensAtMost();
    if (most != null) {
      line.lowerTo(most);
    }
    if (!adjustment.pause().isZero()) {
      line.pause(now + adjustment.pause().toNanos());
    }
    tally.leaves(line.available());
    drain();
  }

  /** Goes by another budget. Whoever cannot be in line any more is refused. */
  void reload(ModelBudget newBudget, DeskRules newRules) {
    ModelLine before = line;
    line = before.successor(newBudget.limits(), now);
    budget = newBudget;
    rules = newRules;
    setRules();
    tally.leaves(line.available());
    grants.endBy(now + newRules.reservationLife().toNanos());
    for (Waiting waiting : before.inOrder()) {
      comeAgain(Objects.requireNonNull(tickets.leave(waiting)), waiting.since);
    }
    // What is written was granted by other limits, and cannot be done again by these.
    log.restate(budget, line, grants, now);
    drain();
  }

  private void comeAgain(TicketState ticket, long since) {
    TokenRequest request = ticket.request;
    Demand demand = ranks.containsKey(request.priority()) ? demand(request) : null;
    if (demand == null) {
      decide(ticket, refused(request, Outcome.Reason.REMOVED));
    } else if (demand.tokens() > line.largest(demand)) {
      decide(ticket, refused(request, Outcome.Reason.EXCEEDS_CAPACITY));
    } else {
      tickets.place(ticket, line.enter(demand, since));
    }
  }

  /** Refuses all tickets from now on; grants can still be settled. */
  void refuseAll(Outcome.Reason why) {
    for (Waiting waiting : line.inOrder()) {
      TicketState ticket = Objects.requireNonNull(tickets.leave(waiting));
      line.leave(waiting);
      decide(ticket, refused(ticket.request, why));
    }
  }

  void close() {
    log.close();
  }

  // ---- how it stands

  /** What is granted and not settled, and who is in line. */
  OpenWork openWork() {
    return OpenWork.of(grants, line, tickets);
  }

  /** Empty if there is no such ticket or reservation any more. */
  Optional<TokenOwner> owner(String id) {
    return LineView.owner(model, tickets.find(id), grants.find(id));
  }

  Explanation explain(TokenRequest request) {
    drain();
    boolean full = tickets.isFullFor(request.tenant(), rules.maxLine());
    return Explaining.of(request, demand(request), line, full ? lineFull : null, now);
  }

  GovernorStatus.Model status() {
    return LineView.status(model, budget, ranks, line, tally, now);
  }

  ModelQueue queue(int offset, int limit) {
    drain();
    List<ModelQueue.Place> places = LineView.places(tickets, line, offset, limit, now);
    return LineView.queue(model, ranks, places, line, now);
  }
}
