package dev.sluice.governor.internal.engine;

import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.WaitingListStatus;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reports the waiters and the state of a model; changes nothing. */
final class WaitingListView {
  private WaitingListView() {}

  /** Returns the owner of a ticket or a reservation; empty if there is neither. */
  static Optional<TokenOwner> owner(
      String model, @Nullable Ticket ticket, @Nullable OpenGrant grant) {
    return ticket != null
        ? Optional.of(ticket.owner(model))
        : Optional.ofNullable(grant).map(each -> each.owner(model));
  }

  /** Returns the status of a model, without audit, provider and alerts. */
  static GovernorStatus.Model status(
      String model,
      ModelBudget budget,
      Map<String, Integer> ranks,
      ModelWaitingList waitingList,
      ModelCounters counters,
      long now) {
    return new GovernorStatus.Model(
        model,
        budget.tokens().capacity(),
        waitingList.available(),
        budget.tokens().refillTokens(),
        Instant.now().minusNanos(now - counters.refilledAt()),
        lengths(ranks, waitingList),
        waitingList.running(),
        counters.counts(),
        GovernorStatus.Audit.NONE,
        GovernorStatus.Provider.UNKNOWN,
        exhaustion(waitingList.shortage(), now),
        List.of());
  }

  private static Optional<GovernorStatus.Exhaustion> exhaustion(
      @Nullable Shortage shortage, long now) {
    return Optional.ofNullable(shortage)
        .map(
            each ->
                new GovernorStatus.Exhaustion(
                    each.by(), each.needed(), Duration.ofNanos(now - each.since())));
  }

  /** Returns the number of waiters by class. */
  private static Map<String, Integer> lengths(
      Map<String, Integer> ranks, ModelWaitingList waitingList) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    ranks.forEach((name, rank) -> lengths.put(name, waitingList.waiting(rank)));
    return lengths;
  }

  /** Returns the waiting list with a part of its tickets. */
  static WaitingListStatus queue(
      String model,
      Map<String, Integer> ranks,
      List<WaitingListStatus.QueuedTicket> places,
      ModelWaitingList waitingList,
      long now) {
    Forecaster forecaster = new Forecaster(waitingList, now);
    Map<String, Duration> etas = new LinkedHashMap<>();
    Map<String, BudgetDimension> bindings = new LinkedHashMap<>();
    ranks.forEach(
        (name, rank) -> {
          TokenWaiter last = waitingList.rank(rank).waitingList.last();
          Forecast forecast = last == null ? Forecast.NOW : forecaster.of(last);
          forecast.eta().ifPresent(eta -> etas.put(name, eta));
          bindings.put(name, forecast.binding());
        });
    return new WaitingListStatus(model, waitingList.waiting(), etas, bindings, places);
  }

  /** Returns the waiting tickets from {@code offset} on, at most {@code limit}. */
  static List<WaitingListStatus.QueuedTicket> places(
      Tickets tickets, ModelWaitingList waitingList, int offset, int limit, long now) {
    Forecaster forecaster = new Forecaster(waitingList, now);
    List<TokenWaiter> all = waitingList.inOrder();
    List<WaitingListStatus.QueuedTicket> places = new ArrayList<>();
    for (int i = offset; i < all.size() && places.size() < limit; i++) {
      TokenWaiter waiting = all.get(i);
      Ticket ticket = tickets.at(waiting);
      Forecast forecast = forecaster.of(waiting);
      places.add(
          new WaitingListStatus.QueuedTicket(
              ticket.id,
              ticket.request.tenant(),
              ticket.request.priorityClass(),
              ticket.request.tokens(),
              forecast.position(),
              forecast.eta(),
              forecast.binding(),
              Duration.ofMillis(WaitReason.millis(Math.max(0, now - waiting.since)))));
    }
    return places;
  }
}
