package dev.sluice.governor;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Says what would become of a request, by a model's line. */
final class Explaining {
  private static final long MILLI = 1_000_000L;

  private Explaining() {}

  /** Rounded up; {@code unknown} if nobody knows. */
  static long millis(long nanos, long unknown) {
    return nanos == Held.UNKNOWN ? unknown : Math.floorDiv(nanos + MILLI - 1, MILLI);
  }

  static Explanation of(
      TokenRequest request, Demand demand, ModelLine line, @Nullable String lineFull, long now) {
    List<Explanation.Part> parts =
        line.parts(demand, now).stream()
            .map(
                each ->
                    new Explanation.Part(
                        each.dimension(),
                        each.capacity(),
                        each.available(),
                        each.needed(),
                        millis(each.waitMs(), -1)))
            .toList();
    long largest = line.largest(demand);
    if (demand.tokens() > largest) {
      return explanation(
          request,
          demand,
          Explanation.Verdict.REFUSED,
          Dimension.CLASS,
          StoreTerms.tooMany(largest, request.priority(), demand.tokens()),
          parts);
    }
    Held held = line.wouldHold(demand, now);
    if (held == null) {
      return explanation(
          request,
          demand,
          Explanation.Verdict.GRANTED,
          Dimension.NONE,
          StoreTerms.inWords(Dimension.NONE),
          parts);
    }
    if (lineFull != null) {
      return explanation(
          request, demand, Explanation.Verdict.REFUSED, Dimension.LINE, lineFull, parts);
    }
    return queued(request, demand, line, now, parts);
  }

  private static Explanation queued(
      TokenRequest request, Demand demand, ModelLine line, long now, List<Explanation.Part> parts) {
    Held alone = line.alone(demand, now);
    ModelLine.Place place = line.imagine(demand, now);
    Dimension binding = alone == null ? Dimension.LINE : alone.by();
    return new Explanation(
        request.model(),
        request.priority(),
        demand.tokens(),
        Explanation.Verdict.QUEUED,
        binding,
        place.position(),
        alone == null ? 0 : millis(alone.nanos(), 0),
        millis(place.nanos(), 0),
        StoreTerms.inWords(binding),
        parts);
  }

  private static Explanation explanation(
      TokenRequest request,
      Demand demand,
      Explanation.Verdict verdict,
      Dimension binding,
      String message,
      List<Explanation.Part> parts) {
    return new Explanation(
        request.model(),
        request.priority(),
        demand.tokens(),
        verdict,
        binding,
        0,
        0,
        0,
        message,
        parts);
  }

  /** How a ticket stands that is in line. */
  static Outcome.Queued standing(TicketState ticket, ModelLine line, long now) {
    Waiting waiting = Objects.requireNonNull(ticket.waiting);
    ModelLine.Place place = line.place(waiting, now);
    Held alone = line.alone(waiting.demand, now);
    return new Outcome.Queued(
        ticket.request.model(),
        ticket.request.priority(),
        ticket.request.tokens(),
        line.available(),
        alone == null ? 0 : millis(alone.nanos(), 0),
        place.position(),
        millis(place.nanos(), 0),
        alone == null ? Dimension.LINE : alone.by(),
        ticket.id);
  }
}
