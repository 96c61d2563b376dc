package dev.sluice.governor.internal.engine;

import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.spi.BudgetStoreSupport;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Predicts the decision for a request. */
final class Explanations {
  private Explanations() {}

  static TokenExplanation of(
      TokenRequest request,
      TokenDemand demand,
      ModelWaitingList waitingList,
      @Nullable String waitingListFull,
      long now) {
    Forecaster forecaster = new Forecaster(waitingList, now);
    List<TokenExplanation.DimensionStatus> parts = forecaster.parts(demand);
    long largest = waitingList.largest(demand);
    if (demand.tokens() > largest) {
      return explanation(
          request,
          demand,
          TokenExplanation.Outcome.IMPOSSIBLE,
          BudgetDimension.PRIORITY_CLASS,
          BudgetStoreSupport.tooMany(largest, request.priorityClass(), demand.tokens()),
          parts);
    }
    WaitReason held = waitingList.wouldHold(demand, now);
    if (held == null) {
      return explanation(
          request,
          demand,
          TokenExplanation.Outcome.GRANTED,
          BudgetDimension.NONE,
          BudgetStoreSupport.inWords(BudgetDimension.NONE),
          parts);
    }
    if (waitingListFull != null) {
      return explanation(
          request,
          demand,
          TokenExplanation.Outcome.DENIED,
          BudgetDimension.WAITING_LIST,
          waitingListFull,
          parts);
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
        request.priorityClass(),
        demand.tokens(),
        TokenExplanation.Outcome.QUEUED,
        forecast.binding(),
        forecast.position(),
        forecast.retryAfter(),
        forecast.eta(),
        BudgetStoreSupport.inWords(forecast.binding()),
        parts);
  }

  private static TokenExplanation explanation(
      TokenRequest request,
      TokenDemand demand,
      TokenExplanation.Outcome outcome,
      BudgetDimension binding,
      String message,
      List<TokenExplanation.DimensionStatus> parts) {
    boolean goes = outcome == TokenExplanation.Outcome.GRANTED;
    Optional<Duration> wait = goes ? Optional.of(Duration.ZERO) : Optional.empty();
    return new TokenExplanation(
        request.model(),
        request.priorityClass(),
        demand.tokens(),
        outcome,
        binding,
        0,
        wait,
        wait,
        message,
        parts);
  }

  /** Returns the present decision for a ticket that waits. */
  static TokenDecision.Queued queued(Ticket ticket, ModelWaitingList waitingList, long now) {
    TokenWaiter waiting = Objects.requireNonNull(ticket.waiting);
    Forecast forecast = new Forecaster(waitingList, now).of(waiting);
    return new TokenDecision.Queued(
        ticket.request.model(),
        ticket.request.priorityClass(),
        ticket.request.tokens(),
        waitingList.available(),
        forecast.retryAfter(),
        forecast.position(),
        forecast.eta(),
        forecast.binding(),
        ticket.id);
  }
}
