package dev.sluice.governor;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Says who is in line; nothing changes by this. */
final class LineView {
  private LineView() {}

  /** Returns the owner of a ticket or a reservation; empty if there is neither. */
  static Optional<TokenOwner> owner(
      String model, @Nullable TicketState ticket, @Nullable Grant grant) {
    return ticket != null
        ? Optional.of(ticket.owner(model))
        : Optional.ofNullable(grant).map(each -> each.owner(model));
  }

  /** Returns how a model stands, by what its desk alone knows. */
  static GovernorStatus.Model status(
      String model,
      ModelBudget budget,
      Map<String, Integer> ranks,
      ModelLine line,
      Tally tally,
      long now) {
    return new GovernorStatus.Model(
        model,
        budget.burstTpm(),
        line.available(),
        budget.targetTpm(),
        Instant.now().minusNanos(now - tally.refilledAt()),
        lengths(ranks, line),
        line.running(),
        tally.counts(),
        AuditReport.NONE,
        ProviderStanding.UNHEARD,
        exhaustion(line.shortage(), now),
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

  /** By class. */
  private static Map<String, Integer> lengths(Map<String, Integer> ranks, ModelLine line) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    ranks.forEach((name, rank) -> lengths.put(name, line.waiting(rank)));
    return lengths;
  }

  /** The line, with the places from {@code offset} on, but no more than so many. */
  static ModelQueue queue(
      String model,
      Map<String, Integer> ranks,
      List<ModelQueue.Place> places,
      ModelLine line,
      long now) {
    Forecaster forecaster = new Forecaster(line, now);
    Map<String, Long> etas = new LinkedHashMap<>();
    Map<String, Dimension> bindings = new LinkedHashMap<>();
    ranks.forEach(
        (name, rank) -> {
          Waiting last = line.rank(rank).line.last();
          Forecast forecast = last == null ? Forecast.NOW : forecaster.of(last);
          forecast.etaMs().ifPresent(eta -> etas.put(name, eta));
          bindings.put(name, forecast.binding());
        });
    return new ModelQueue(model, line.waiting(), etas, bindings, places);
  }

  /** Those from {@code offset} on, but no more than so many. */
  static List<ModelQueue.Place> places(
      TicketBook tickets, ModelLine line, int offset, int limit, long now) {
    Forecaster forecaster = new Forecaster(line, now);
    List<Waiting> all = line.inOrder();
    List<ModelQueue.Place> places = new ArrayList<>();
    for (int i = offset; i < all.size() && places.size() < limit; i++) {
      Waiting waiting = all.get(i);
      TicketState ticket = tickets.at(waiting);
      Forecast forecast = forecaster.of(waiting);
      places.add(
          new ModelQueue.Place(
              ticket.id,
              ticket.request.tenant(),
              ticket.request.priority(),
              ticket.request.tokens(),
              forecast.position(),
              forecast.etaMs(),
              forecast.binding(),
              Held.millis(Math.max(0, now - waiting.since))));
    }
    return places;
  }
}
