package dev.sluice.governor.engine;

import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.spi.BudgetStoreSupport;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Says what would become of a request, by a model's line. */
final class Explanations {
  private Explanations() {}

  static TokenExplanation of(
      TokenRequest request,
      TokenDemand demand,
      ModelWaitingList line,
      @Nullable String lineFull,
      long now) {
    Forecaster forecaster = new Forecaster(line, now);
    List<TokenExplanation.DimensionStatus> parts = forecaster.parts(demand);
    long largest = line.largest(demand);
    if (demand.tokens() > largest) {
      return explanation(
          request,
          demand,
          TokenExplanation.Outcome.REFUSED,
          BudgetDimension.CLASS,
          BudgetStoreSupport.tooMany(largest, request.priority(), demand.tokens()),
          parts);
    }
    WaitReason held = line.wouldHold(demand, now);
    if (held == null) {
      return explanation(
          request,
          demand,
          TokenExplanation.Outcome.GRANTED,
          BudgetDimension.NONE,
          BudgetStoreSupport.inWords(BudgetDimension.NONE),
          parts);
    }
    if (lineFull != null) {
      return explanation(
          request, demand, TokenExplanation.Outcome.REFUSED, BudgetDimension.LINE, lineFull, parts);
    }
    return queued(request, demand, forecaster.imagine(demand), parts);
  }

  private static TokenExplanation queued(
      TokenRequest request,
      TokenDemand demand,
      Forecast forecast,
      List<TokenExplanation.DimensionStatus> parts) {
    return new TokenExplanation(
        request.model(),
        request.priority(),
        demand.tokens(),
        TokenExplanation.Outcome.QUEUED,
        forecast.binding(),
        forecast.position(),
        forecast.waitMs(),
        forecast.etaMs(),
        BudgetStoreSupport.inWords(forecast.binding()),
        parts);
  }

  private static TokenExplanation explanation(
      TokenRequest request,
      TokenDemand demand,
      TokenExplanation.Outcome verdict,
      BudgetDimension binding,
      String message,
      List<TokenExplanation.DimensionStatus> parts) {
    boolean goes = verdict == TokenExplanation.Outcome.GRANTED;
    OptionalLong wait = goes ? OptionalLong.of(0) : OptionalLong.empty();
    return new TokenExplanation(
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
  static TokenDecision.Queued standing(Ticket ticket, ModelWaitingList line, long now) {
    TokenWaiter waiting = Objects.requireNonNull(ticket.waiting);
    Forecast forecast = new Forecaster(line, now).of(waiting);
    return new TokenDecision.Queued(
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
