package dev.sluice.governor;

import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Says what would become of a request, by a model's line. */
final class Explaining {
  private Explaining() {}

  static Explanation of(
      TokenRequest request, Demand demand, ModelLine line, @Nullable String lineFull, long now) {
    Forecaster forecaster = new Forecaster(line, now);
    List<Explanation.Part> parts = forecaster.parts(demand);
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
    return queued(request, demand, forecaster.imagine(demand), parts);
  }

  private static Explanation queued(
      TokenRequest request, Demand demand, Forecast forecast, List<Explanation.Part> parts) {
    return new Explanation(
        request.model(),
        request.priority(),
        demand.tokens(),
        Explanation.Verdict.QUEUED,
        forecast.binding(),
        forecast.position(),
        forecast.waitMs(),
        forecast.etaMs(),
        StoreTerms.inWords(forecast.binding()),
        parts);
  }

  private static Explanation explanation(
      TokenRequest request,
      Demand demand,
      Explanation.Verdict verdict,
      Dimension binding,
      String message,
      List<Explanation.Part> parts) {
    boolean goes = verdict == Explanation.Verdict.GRANTED;
    OptionalLong wait = goes ? OptionalLong.of(0) : OptionalLong.empty();
    return new Explanation(
        request.model(),
        request.priority(),
        demand.tokens(),
        verdict,
        binding,
        0,
        wait,
        wait,
        message,
        parts);
  }

  /** How a ticket stands that is in line. */
  static Outcome.Queued standing(TicketState ticket, ModelLine line, long now) {
    Waiting waiting = Objects.requireNonNull(ticket.waiting);
    Forecast forecast = new Forecaster(line, now).of(waiting);
    return new Outcome.Queued(
        ticket.request.model(),
        ticket.request.priority(),
        ticket.request.tokens(),
        line.available(),
        forecast.waitMs(),
        forecast.position(),
        forecast.etaMs(),
        forecast.binding(),
        ticket.id);
  }
}
