package dev.sluice.governor.engine;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.ModelLimits;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.TicketIds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Applies requests to one model, one at a time: keeps its waiting list, its tickets and its open
 * grants. The time is that of {@link #begin}. Not thread-safe.
 */
public final class BudgetEngine {
  private final String model;
  private final TicketIds ids;
  private final ModelCounters counters;
  private final Tickets tickets = new Tickets();
  private final OpenGrants grants = new OpenGrants();
  private final List<BudgetEngine.TicketDecision> news = new ArrayList<>();
  private ModelSettings settings;
  private ModelWaitingList waitingList;
  private GrantLog log = GrantLog.NONE;
  private long now;
  private long numbers;

  /** A decision that the waiters for a ticket have to learn. */
  public record TicketDecision(
      Ticket ticket,
      TokenDecision outcome,
      List<CompletableFuture<Optional<TokenDecision>>> waiters) {}

  /** Opens a log and first restores the state from it. */
  public interface GrantLogFactory {
    GrantLog open(ModelState state, long now);
  }

  public BudgetEngine(
      String model,
      ModelBudget budget,
      WaitingListConfig rules,
      BudgetListener listener,
      long now) {
    this.model = model;
    this.settings = new ModelSettings(model, budget, rules);
    this.ids = new TicketIds(model);
    this.now = now;
    this.waitingList = new ModelWaitingList(ModelLimits.of(budget), now);
    this.counters = new ModelCounters(model, listener, waitingList.available(), now);
  }

  /** Continues from the log, and writes to it from now on. */
  public void keep(BudgetEngine.GrantLogFactory opener) {
    log =
        opener.open(
            new ModelState(
                model, settings.budget, waitingList, grants, tickets, settings.reservationNanos()),
            now);
    counters.leaves(waitingList.available());
    if (waitingList.waiting() > 0) {
      drain();
    }
  }

  /** Advances time to {@code at} and expires reservations and tickets. */
  public void begin(long at) {
    now = at;
    waitingList.advance(now);
    endWhatIsOver();
  }

  /** Returns and forgets the decisions that waiters have to learn. */
  public List<BudgetEngine.TicketDecision> takeNews() {
    List<BudgetEngine.TicketDecision> told = List.copyOf(news);
    news.clear();
    return told;
  }

  /** Removes from the log what has ended. */
  public void tidy() {
    log.tidy(waitingList, grants, now);
  }

  /** Returns the time at which something expires or a waiter can be granted. */
  public long nextLook() {
    long at = Math.min(grants.nextEnd(), tickets.nextEnd(settings.ticketIdleNanos()));
    return waitingList.waiting() == 0
        ? at
        : Math.min(
            at, Math.min(waitingList.wakeAt(), now + settings.rules.refillInterval().toNanos()));
  }

  private void endWhatIsOver() {
    boolean ended = false;
    for (OpenGrant over = grants.over(now); over != null; over = grants.over(now)) {
      grants.remove(over.id());
      waitingList.abandon(over.reservation);
      log.ended(over.id(), now);
      forgetTicketOf(over);
      ended = true;
    }
    for (Ticket late = tickets.late(now); late != null; late = tickets.late(now)) {
      giveUp(late, TokenDecision.Reason.TIMEOUT);
      ended = true;
    }
    long patience = settings.ticketIdleNanos();
    for (Ticket lost = tickets.missed(patience, now);
        lost != null;
        lost = tickets.missed(patience, now)) {
      if (lost.decided == null) {
        // A late poll learns the reason, for as long again.
        giveUp(lost, TokenDecision.Reason.ABANDONED);
      } else {
        giveBack(lost);
      }
      ended = true;
    }
    if (ended) {
      drain();
    }
  }

  /** Grants all waiters that can be granted now. */
  public void drain() {
    counters.decides(waitingList.available(), now);
    waitingList.drain(now, settings.rules.drainBatch(), this::granted);
  }

  // ---- asking

  public TokenDecision request(TokenRequest request) {
    TokenDemand demand = settings.demand(request);
    TokenDecision before = again(request);
    if (before != null) {
      return before;
    }
    TokenDecision atOnce =
        demand.tokens() > waitingList.largest(demand) ? null : grantNow(request, demand);
    TokenDecision outcome = atOnce == null ? refuseOrQueue(request, demand) : atOnce;
    counters.asked(request, outcome, atOnce != null, now);
    return outcome;
  }

  /** Granted at once, or nothing happened. */
  public Optional<TokenDecision> tryAcquire(TokenRequest request) {
    TokenDemand demand = settings.demand(request);
    TokenDecision before = again(request);
    if (before != null) {
      return Optional.of(before);
    }
    TokenDecision granted =
        demand.tokens() > waitingList.largest(demand) ? null : grantNow(request, demand);
    if (granted != null) {
      counters.asked(request, granted, true, now);
    }
    return Optional.ofNullable(granted);
  }

  public Optional<TokenDecision> find(TokenRequest request) {
    return Optional.ofNullable(again(request));
  }

  /** A request that was made before finds its place, or its grant. */
  private @Nullable TokenDecision again(TokenRequest request) {
    Ticket ticket = tickets.ofKey(request);
    if (ticket == null) {
      return null;
    }
    ticket.requireSame(request);
    return seen(ticket);
  }

  private TokenDecision refuseOrQueue(TokenRequest request, TokenDemand demand) {
    long largest = waitingList.largest(demand);
    if (demand.tokens() > largest) {
      String message =
          BudgetStoreSupport.tooMany(largest, request.priorityClass(), demand.tokens());
      return settings.impossible(request, message, waitingList.available());
    }
    if (tickets.isFullFor(request.tenant(), settings.rules.maxWaiting())) {
      return settings.tooManyWaiters(request, waitingList.available());
    }
    return queue(request, demand);
  }

  private @Nullable TokenDecision grantNow(TokenRequest request, TokenDemand demand) {
    if (waitingList.waiting() > 0) {
      drain();
    } else {
      counters.decides(waitingList.available(), now);
    }
    if (waitingList.wouldHold(demand, now) != null) {
      return null;
    }
    Ticket ticket = null;
    if (request.idempotencyKey() != null) {
      ticket = ticket(request);
      ticket.claimed = true;
    }
    TokenDecision.Granted granted = hold(waitingList.grantNow(demand, now), request, ticket, 0);
    if (ticket != null) {
      ticket.decided = granted;
      tickets.add(ticket);
    }
    if (waitingList.waiting() > 0) {
      // Waiters may wait for something else now, such as the slot that it took.
      drain();
    }
    return granted;
  }

  private Ticket ticket(TokenRequest request) {
    Duration deadline = request.maxWait();
    return new Ticket(
        ids.next('t'),
        request,
        numbers++,
        deadline == null ? Ticket.NO_DEADLINE : now + deadline.toNanos(),
        now);
  }

  private TokenDecision.Denied refused(TokenRequest request, TokenDecision.Reason reason) {
    return settings.denied(request, reason, waitingList.available());
  }

  private TokenDecision queue(TokenRequest request, TokenDemand demand) {
    Ticket ticket = ticket(request);
    tickets.add(ticket);
    tickets.place(ticket, waitingList.enter(demand, now));
    drain();
    return seen(ticket);
  }

  private TokenDecision.Granted hold(
      Reservation reservation, TokenRequest request, @Nullable Ticket ticket, long waitedNanos) {
    long tokens = reservation.demand.tokens();
    String id = ticket == null ? ids.next('r') : ids.reservationOf(ticket.id);
    TokenDecision.Granted answer =
        new TokenDecision.Granted(
            model, request.priorityClass(), tokens, waitingList.available(), request.tokens(), id);
    OpenGrant grant = new OpenGrant(answer, reservation, ticket, now + settings.reservationNanos());
    grants.add(grant);
    log.granted(grant);
    counters.granted(request, tokens, waitedNanos, now);
    counters.leaves(waitingList.available());
    return answer;
  }

  private void granted(TokenWaiter waiting, Reservation reservation) {
    Ticket ticket = Objects.requireNonNull(tickets.leave(waiting));
    decide(ticket, hold(reservation, ticket.request, ticket, now - waiting.since));
  }

  private void decide(Ticket ticket, TokenDecision outcome) {
    ticket.decided = outcome;
    ticket.claimed = !ticket.waiters.isEmpty();
    ticket.onlyWaited = true;
    if (ticket.claimed) {
      news.add(new BudgetEngine.TicketDecision(ticket, outcome, List.copyOf(ticket.waiters)));
      ticket.waiters.clear();
    }
    tickets.seen(ticket, now);
    tickets.decided(ticket);
  }

  // ---- tickets

  private void giveUp(Ticket ticket, TokenDecision.Reason why) {
    TokenWaiter waiting = ticket.waiting;
    if (ticket.decided == null && waiting != null && waitingList.leave(waiting)) {
      tickets.leave(waiting);
      decide(ticket, refused(ticket.request, why));
    }
  }

  private void giveBack(Ticket ticket) {
    tickets.forget(ticket);
    if (ticket.decided instanceof TokenDecision.Granted granted) {
      end(granted.reservation(), 0);
    }
  }

  private TokenDecision seen(Ticket ticket) {
    TokenDecision decided = ticket.decided;
    ticket.claimed |= decided != null;
    ticket.onlyWaited = false;
    if (decided == null || decided.isGranted()) {
      tickets.seen(ticket, now);
    }
    return decided == null ? Explanations.standing(ticket, waitingList, now) : decided;
  }

  /** How it stands; claims what was granted. */
  public Optional<TokenDecision> poll(String ticket) {
    return Optional.ofNullable(tickets.find(ticket)).map(this::seen);
  }

  /**
   * Returns the present decision; a later one completes {@code waiter}, and the ticket is not idle.
   */
  public Optional<TokenDecision> attend(
      String id, CompletableFuture<Optional<TokenDecision>> waiter) {
    Ticket ticket = tickets.find(id);
    if (ticket == null) {
      return Optional.empty();
    }
    if (ticket.decided == null) {
      ticket.waiters.add(waiter);
    }
    return Optional.of(seen(ticket));
  }

  /** Does not wait any longer: the ticket must be asked for again. */
  public void leave(String id, CompletableFuture<Optional<TokenDecision>> waiter) {
    Ticket ticket = tickets.find(id);
    if (ticket == null) {
      return;
    }
    if (ticket.waiters.removeIf(each -> each == waiter) && ticket.decided == null) {
      tickets.seen(ticket, now);
    }
  }

  /** Those who waited had gone in the same moment: somebody may still come and ask. */
  public void unheard(String id) {
    Ticket ticket = tickets.find(id);
    if (ticket != null && ticket.onlyWaited) {
      ticket.claimed = false;
      tickets.seen(ticket, now);
    }
  }

  public List<CompletableFuture<Optional<TokenDecision>>> waiters() {
    return tickets.waiters();
  }

  /** Removes a ticket or returns its grant; returns false if there is neither. */
  public boolean cancel(String id) {
    Ticket ticket = tickets.find(id);
    if (ticket == null) {
      return false;
    }
    giveUp(ticket, TokenDecision.Reason.CANCELLED);
    giveBack(ticket);
    drain();
    return true;
  }

  // ---- reservations

  /** Empty if there is no such reservation any more. */
  public Optional<TokenSettlement> settle(String id, long actual) {
    Optional<TokenSettlement> settled = end(id, actual);
    if (settled.isPresent()) {
      drain();
    }
    return settled;
  }

  private Optional<TokenSettlement> end(String id, long actual) {
    OpenGrant grant = grants.remove(id);
    if (grant == null) {
      return Optional.empty();
    }
    counters.decides(waitingList.available(), now);
    long back = waitingList.settle(grant.reservation, actual);
    counters.leaves(waitingList.available());
    TokenSettlement settled =
        TokenSettlement.of(
            model,
            grant.tenant(),
            grant.answer.requestedTokens(),
            grant.reservation.demand.tokens(),
            actual,
            back);
    log.settled(id, settled.chargedTokens(), now);
    forgetTicketOf(grant);
    counters.settled(settled, grant.reservation.grantedAt, now);
    return Optional.of(settled);
  }

  private void forgetTicketOf(OpenGrant grant) {
    if (grant.ticket != null) {
      tickets.forget(grant.ticket);
    }
  }

  /** It lives as long again from now. False if it is over. */
  public boolean extend(String id) {
    OpenGrant grant = grants.find(id);
    if (grant == null) {
      return false;
    }
    grants.extend(grant, now + settings.reservationNanos());
    log.extended(grant);
    return true;
  }

  public void adjust(ProviderAdjustment adjustment) {
    waitingList.slow(adjustment.factor(), now);
    Long most = adjustment.maxTokens();
    if (most != null) {
      waitingList.lowerTo(most);
    }
    if (!adjustment.pause().isZero()) {
      waitingList.pause(now + adjustment.pause().toNanos());
    }
    counters.leaves(waitingList.available());
    drain();
  }

  /** Replaces the budget; denies waiters that no longer fit. */
  public void reload(ModelBudget newBudget, WaitingListConfig newRules) {
    ModelWaitingList before = waitingList;
    waitingList = before.successor(ModelLimits.of(newBudget), now);
    settings = new ModelSettings(model, newBudget, newRules);
    counters.leaves(waitingList.available());
    grants.endBy(now + settings.reservationNanos());
    for (TokenWaiter waiting : before.inOrder()) {
      comeAgain(Objects.requireNonNull(tickets.leave(waiting)), waiting.since);
    }
    // The log has grants under other limits, which these cannot replay.
    log.restate(settings.budget, waitingList, grants, now);
    drain();
  }

  private void comeAgain(Ticket ticket, long since) {
    TokenRequest request = ticket.request;
    boolean isKnown = settings.ranks.containsKey(request.priorityClass());
    TokenDemand demand = isKnown ? settings.demand(request) : null;
    if (demand == null) {
      decide(ticket, refused(request, TokenDecision.Reason.REMOVED));
    } else if (demand.tokens() > waitingList.largest(demand)) {
      decide(
          ticket,
          settings.impossible(request, BudgetStoreSupport.IMPOSSIBLE, waitingList.available()));
    } else {
      tickets.place(ticket, waitingList.enter(demand, since));
    }
  }

  /** Refuses all tickets from now on; grants can still be settled. */
  public void refuseAll(TokenDecision.Reason why) {
    for (TokenWaiter waiting : waitingList.inOrder()) {
      Ticket ticket = Objects.requireNonNull(tickets.leave(waiting));
      waitingList.leave(waiting);
      decide(ticket, refused(ticket.request, why));
    }
  }

  public void close() {
    log.close();
  }

  /** Returns the open reservations and the waiting tickets. */
  public StoreSnapshot openWork() {
    return Snapshots.of(grants, waitingList, tickets);
  }

  /** Empty if there is no such ticket or reservation any more. */
  public Optional<TokenOwner> owner(String id) {
    return WaitingListView.owner(model, tickets.find(id), grants.find(id));
  }

  public TokenExplanation explain(TokenRequest request) {
    drain();
    boolean full = tickets.isFullFor(request.tenant(), settings.rules.maxWaiting());
    return Explanations.of(
        request, settings.demand(request), waitingList, full ? settings.tooManyWaiters : null, now);
  }

  public GovernorStatus.Model status() {
    return WaitingListView.status(
        model, settings.budget, settings.ranks, waitingList, counters, now);
  }

  public WaitingListStatus waitingList(int offset, int limit) {
    drain();
    List<WaitingListStatus.QueuedTicket> places =
        WaitingListView.places(tickets, waitingList, offset, limit, now);
    return WaitingListView.queue(model, settings.ranks, places, waitingList, now);
  }
}
