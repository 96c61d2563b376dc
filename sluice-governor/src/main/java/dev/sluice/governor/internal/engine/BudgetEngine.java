package dev.sluice.governor.internal.engine;

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
 * grants. The time is that of the last call of {@link #advanceTo}. Not thread-safe.
 */
public final class BudgetEngine {
  private final String model;
  private final TicketIds ids;
  private final ModelCounters counters;
  private final Tickets tickets = new Tickets();
  private final OpenGrants grants = new OpenGrants();
  private final List<BudgetEngine.TicketDecision> undelivered = new ArrayList<>();
  private ModelSettings settings;
  private ModelWaitingList waitingList;
  private GrantLog log = GrantLog.NONE;
  private long now;
  private long nextNumber;

  /** A decision that is to be delivered to the waiters of a ticket. */
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
      WaitingListConfig config,
      BudgetListener listener,
      long now) {
    this.model = model;
    this.settings = new ModelSettings(model, budget, config);
    this.ids = new TicketIds(model);
    this.now = now;
    this.waitingList = new ModelWaitingList(ModelLimits.of(budget), now);
    this.counters = new ModelCounters(model, listener, waitingList.available(), now);
  }

  /** Continues from the log, and writes to it from now on. */
  public void attachLog(BudgetEngine.GrantLogFactory opener) {
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
  public void advanceTo(long at) {
    now = at;
    waitingList.advance(now);
    expire();
  }

  /** Returns and removes the decisions that are to be delivered to waiters. */
  public List<BudgetEngine.TicketDecision> takeUndelivered() {
    List<BudgetEngine.TicketDecision> taken = List.copyOf(undelivered);
    undelivered.clear();
    return taken;
  }

  /** Lets the log drop grants that have ended. */
  public void compactLog() {
    log.compact(waitingList, grants, now);
  }

  /** Returns the time at which a ticket or grant expires or a waiter can be granted. */
  public long nextEventNanos() {
    long at = Math.min(grants.nextEnd(), tickets.nextEnd(settings.ticketIdleNanos()));
    return waitingList.waiting() == 0
        ? at
        : Math.min(
            at, Math.min(waitingList.wakeAt(), now + settings.config.refillInterval().toNanos()));
  }

  private void expire() {
    boolean ended = false;
    for (OpenGrant expired = grants.expired(now); expired != null; expired = grants.expired(now)) {
      grants.remove(expired.id());
      waitingList.abandon(expired.reservation);
      log.ended(expired.id(), now);
      forgetTicketOf(expired);
      ended = true;
    }
    for (Ticket overdue = tickets.overdue(now); overdue != null; overdue = tickets.overdue(now)) {
      deny(overdue, TokenDecision.Reason.TIMEOUT);
      ended = true;
    }
    long idle = settings.ticketIdleNanos();
    for (Ticket lost = tickets.idle(idle, now); lost != null; lost = tickets.idle(idle, now)) {
      if (lost.decided == null) {
        // A late poll learns the reason, for as long again.
        deny(lost, TokenDecision.Reason.ABANDONED);
      } else {
        returnGrant(lost);
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
    waitingList.drain(now, settings.config.drainBatch(), this::granted);
  }

  // ---- asking

  public TokenDecision request(TokenRequest request) {
    TokenDemand demand = settings.demand(request);
    TokenDecision before = findEarlier(request);
    if (before != null) {
      return before;
    }
    TokenDecision atOnce =
        demand.tokens() > waitingList.largest(demand) ? null : grantNow(request, demand);
    TokenDecision outcome = atOnce == null ? denyOrQueue(request, demand) : atOnce;
    counters.asked(request, outcome, atOnce != null, now);
    return outcome;
  }

  /** Grants a request at once, or changes nothing. */
  public Optional<TokenDecision> tryAcquire(TokenRequest request) {
    TokenDemand demand = settings.demand(request);
    TokenDecision before = findEarlier(request);
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
    return Optional.ofNullable(findEarlier(request));
  }

  /** Claims the ticket of an earlier request with the same key; null if there is none. */
  private @Nullable TokenDecision findEarlier(TokenRequest request) {
    Ticket ticket = tickets.ofKey(request);
    if (ticket == null) {
      return null;
    }
    ticket.requireSame(request);
    return claim(ticket);
  }

  private TokenDecision denyOrQueue(TokenRequest request, TokenDemand demand) {
    long largest = waitingList.largest(demand);
    if (demand.tokens() > largest) {
      String message =
          BudgetStoreSupport.tooMany(largest, request.priorityClass(), demand.tokens());
      return settings.impossible(request, message, waitingList.available());
    }
    if (tickets.isFullFor(request.tenant(), settings.config.maxWaiting())) {
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
        nextNumber++,
        deadline == null ? Ticket.NO_DEADLINE : now + deadline.toNanos(),
        now);
  }

  private TokenDecision.Denied denied(TokenRequest request, TokenDecision.Reason reason) {
    return settings.denied(request, reason, waitingList.available());
  }

  private TokenDecision queue(TokenRequest request, TokenDemand demand) {
    Ticket ticket = ticket(request);
    tickets.add(ticket);
    tickets.place(ticket, waitingList.enter(demand, now));
    drain();
    return claim(ticket);
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
      undelivered.add(
          new BudgetEngine.TicketDecision(ticket, outcome, List.copyOf(ticket.waiters)));
      ticket.waiters.clear();
    }
    tickets.restartIdleTimer(ticket, now);
    tickets.decided(ticket);
  }

  // ---- tickets

  private void deny(Ticket ticket, TokenDecision.Reason why) {
    TokenWaiter waiting = ticket.waiting;
    if (ticket.decided == null && waiting != null && waitingList.leave(waiting)) {
      tickets.leave(waiting);
      decide(ticket, denied(ticket.request, why));
    }
  }

  private void returnGrant(Ticket ticket) {
    tickets.forget(ticket);
    if (ticket.decided instanceof TokenDecision.Granted granted) {
      end(granted.reservation(), 0);
    }
  }

  /** Returns the present decision; claims a grant, and restarts the idle timer. */
  private TokenDecision claim(Ticket ticket) {
    TokenDecision decided = ticket.decided;
    ticket.claimed |= decided != null;
    ticket.onlyWaited = false;
    if (decided == null || decided.isGranted()) {
      tickets.restartIdleTimer(ticket, now);
    }
    return decided == null ? Explanations.queued(ticket, waitingList, now) : decided;
  }

  /** Returns the present decision and claims a grant; empty if there is no such ticket. */
  public Optional<TokenDecision> poll(String ticket) {
    return Optional.ofNullable(tickets.find(ticket)).map(this::claim);
  }

  /**
   * Returns the present decision; a later one completes {@code waiter}, and the ticket is not idle.
   */
  public Optional<TokenDecision> subscribe(
      String id, CompletableFuture<Optional<TokenDecision>> waiter) {
    Ticket ticket = tickets.find(id);
    if (ticket == null) {
      return Optional.empty();
    }
    if (ticket.decided == null) {
      ticket.waiters.add(waiter);
    }
    return Optional.of(claim(ticket));
  }

  /** Removes a waiter; without any, the ticket's idle timer starts. */
  public void unsubscribe(String id, CompletableFuture<Optional<TokenDecision>> waiter) {
    Ticket ticket = tickets.find(id);
    if (ticket == null) {
      return;
    }
    if (ticket.waiters.removeIf(each -> each == waiter) && ticket.decided == null) {
      tickets.restartIdleTimer(ticket, now);
    }
  }

  /** Undoes the claim of a decision that reached no waiter; a later poll may still claim it. */
  public void undelivered(String id) {
    Ticket ticket = tickets.find(id);
    if (ticket != null && ticket.onlyWaited) {
      ticket.claimed = false;
      tickets.restartIdleTimer(ticket, now);
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
    deny(ticket, TokenDecision.Reason.CANCELLED);
    returnGrant(ticket);
    drain();
    return true;
  }

  // ---- reservations

  /** Settles a reservation; empty if it has ended. */
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

  /** Restarts the timeout of a reservation; returns false if it has ended. */
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
  public void reload(ModelBudget newBudget, WaitingListConfig newConfig) {
    ModelWaitingList before = waitingList;
    waitingList = before.successor(ModelLimits.of(newBudget), now);
    settings = new ModelSettings(model, newBudget, newConfig);
    counters.leaves(waitingList.available());
    grants.endBy(now + settings.reservationNanos());
    for (TokenWaiter waiting : before.inOrder()) {
      requeue(Objects.requireNonNull(tickets.leave(waiting)), waiting.since);
    }
    // The log has grants under other limits, which these cannot replay.
    log.restate(settings.budget, waitingList, grants, now);
    drain();
  }

  private void requeue(Ticket ticket, long since) {
    TokenRequest request = ticket.request;
    boolean isKnown = settings.ranks.containsKey(request.priorityClass());
    TokenDemand demand = isKnown ? settings.demand(request) : null;
    if (demand == null) {
      decide(ticket, denied(request, TokenDecision.Reason.REMOVED));
    } else if (demand.tokens() > waitingList.largest(demand)) {
      decide(
          ticket,
          settings.impossible(request, BudgetStoreSupport.IMPOSSIBLE, waitingList.available()));
    } else {
      tickets.place(ticket, waitingList.enter(demand, since));
    }
  }

  /** Denies all waiting tickets; grants can still be settled. */
  public void denyAll(TokenDecision.Reason why) {
    for (TokenWaiter waiting : waitingList.inOrder()) {
      Ticket ticket = Objects.requireNonNull(tickets.leave(waiting));
      waitingList.leave(waiting);
      decide(ticket, denied(ticket.request, why));
    }
  }

  public void close() {
    log.close();
  }

  /** Returns the open reservations and the waiting tickets. */
  public StoreSnapshot snapshot() {
    return Snapshots.of(grants, waitingList, tickets);
  }

  /** Returns the owner of a ticket or reservation; empty if there is neither. */
  public Optional<TokenOwner> owner(String id) {
    return WaitingListView.owner(model, tickets.find(id), grants.find(id));
  }

  public TokenExplanation explain(TokenRequest request) {
    drain();
    boolean full = tickets.isFullFor(request.tenant(), settings.config.maxWaiting());
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
