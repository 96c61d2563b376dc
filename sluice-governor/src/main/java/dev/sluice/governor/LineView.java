package dev.sluice.governor;

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

  /** By class. */
  static Map<String, Integer> lengths(Map<String, Integer> ranks, ModelLine line) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    ranks.forEach((name, rank) -> lengths.put(name, line.waiting(rank)));
    return lengths;
  }

  /** By class: until its last has had its turn. */
  static Map<String, Long> etas(Map<String, Integer> ranks, ModelLine line, long now) {
    Map<String, Long> etas = new LinkedHashMap<>();
    ranks.forEach(
        (name, rank) -> {
          Demand nothing = new Demand("", 1, rank, 0);
          Waiting end = new Waiting(nothing, now, Long.MAX_VALUE, Long.MAX_VALUE);
          long nanos = line.waiting(rank) == 0 ? 0 : line.place(end, now).nanos();
          etas.put(name, Explaining.millis(nanos, 0));
        });
    return etas;
  }

  /** Those from {@code offset} on, but no more than so many. */
  static List<ModelQueue.Place> places(
      TicketBook tickets, ModelLine line, int offset, int limit, long now) {
    List<Waiting> all = line.inOrder();
    List<ModelQueue.Place> places = new ArrayList<>();
    for (int i = offset; i < all.size() && places.size() < limit; i++) {
      Waiting waiting = all.get(i);
      TicketState ticket = tickets.at(waiting);
      ModelLine.Place place = line.place(waiting, now);
      places.add(
          new ModelQueue.Place(
              ticket.id,
              ticket.request.tenant(),
              ticket.request.priority(),
              ticket.request.tokens(),
              place.position(),
              Explaining.millis(place.nanos(), 0),
              Explaining.millis(Math.max(0, now - waiting.since), 0)));
    }
    return places;
  }
}
