package dev.sluice.server.grpc.services;

import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.proto.v1.TokenExplanation;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.proto.v1.TokenSettlement;
import dev.sluice.server.operations.GovernorOperations;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;

/** Maps requests and results of the governor to and from messages of {@code sluice.v1}. */
final class GovernorProtoMapper {
  private GovernorProtoMapper() {}

  static GovernorOperations.TokenRequestSpec request(TokenRequest wire) {
    return new GovernorOperations.TokenRequestSpec(
        wire.getModel(),
        wire.getTokens(),
        wire.getPriority(),
        wire.getTenant(),
        wire.getMaxWaitMs(),
        wire.getIdempotencyKey(),
        wire.getExpectedTokens());
  }

  /**
   * Returns the decision on a request or a ticket.
   *
   * @throws ApiException if the store could not decide, which is an error on this wire
   */
  static dev.sluice.proto.v1.TokenDecision decision(TokenDecision decision) {
    var wire = dev.sluice.proto.v1.TokenDecision.newBuilder();
    if (decision instanceof TokenDecision.Granted granted) {
      wire.setGranted(
          dev.sluice.proto.v1.TokenDecision.Granted.newBuilder()
              .setModel(granted.model())
              .setPriority(granted.priorityClass())
              .setTokens(granted.tokens())
              .setRequestedTokens(granted.requestedTokens())
              .setRemaining(granted.remaining())
              .setReservation(granted.reservation()));
    } else if (decision instanceof TokenDecision.Queued queued) {
      wire.setQueued(queued(queued));
    } else if (decision instanceof TokenDecision.Denied denied) {
      wire.setDenied(denied(denied));
    } else if (decision instanceof TokenDecision.Impossible impossible) {
      wire.setImpossible(impossible(impossible));
    }
    return wire.build();
  }

  private static dev.sluice.proto.v1.TokenDecision.Impossible impossible(
      TokenDecision.Impossible impossible) {
    return dev.sluice.proto.v1.TokenDecision.Impossible.newBuilder()
        .setModel(impossible.model())
        .setPriority(impossible.priorityClass())
        .setTokens(impossible.tokens())
        .setRemaining(impossible.remaining())
        .setMessage(impossible.message())
        .build();
  }

  private static dev.sluice.proto.v1.TokenDecision.Denied denied(TokenDecision.Denied denied) {
    return dev.sluice.proto.v1.TokenDecision.Denied.newBuilder()
        .setModel(denied.model())
        .setPriority(denied.priorityClass())
        .setTokens(denied.tokens())
        .setRemaining(denied.remaining())
        .setReason(reason(denied))
        .setMessage(denied.message())
        .build();
  }

  private static dev.sluice.proto.v1.TokenDecision.Reason reason(TokenDecision.Denied denied) {
    return switch (denied.reason()) {
      case TOO_MANY_WAITERS -> dev.sluice.proto.v1.TokenDecision.Reason.TOO_MANY_WAITERS;
      case TIMEOUT -> dev.sluice.proto.v1.TokenDecision.Reason.TIMEOUT;
      case ABANDONED -> dev.sluice.proto.v1.TokenDecision.Reason.ABANDONED;
      case CANCELLED -> dev.sluice.proto.v1.TokenDecision.Reason.CANCELLED;
      case REMOVED -> dev.sluice.proto.v1.TokenDecision.Reason.REMOVED;
      case CLOSED -> dev.sluice.proto.v1.TokenDecision.Reason.CLOSED;
      case UNAVAILABLE -> throw new ApiException(ErrorKind.UNAVAILABLE, denied.message());
    };
  }

  /** Omits unknown values. */
  private static dev.sluice.proto.v1.TokenDecision.Queued queued(TokenDecision.Queued queued) {
    var wire =
        dev.sluice.proto.v1.TokenDecision.Queued.newBuilder()
            .setModel(queued.model())
            .setPriority(queued.priorityClass())
            .setTokens(queued.tokens())
            .setRemaining(queued.remaining())
            .setQueuePosition(queued.queuePosition())
            .setBinding(dimension(queued.binding()))
            .setTicket(queued.ticket());
    queued.retryAfter().ifPresent(wait -> wire.setWaitMs(wait.toMillis()));
    queued.eta().ifPresent(eta -> wire.setEtaMs(eta.toMillis()));
    return wire.build();
  }

  private static dev.sluice.proto.v1.BudgetDimension dimension(BudgetDimension dimension) {
    return switch (dimension) {
      case TOKENS -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_TOKENS;
      case PRIORITY_CLASS -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_PRIORITY_CLASS;
      case TENANT -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_TENANT;
      case REQUESTS -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_REQUESTS;
      case CONCURRENCY -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_CONCURRENCY;
      case WAITING_LIST -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_WAITING_LIST;
      case PROVIDER -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_PROVIDER;
      case NONE -> dev.sluice.proto.v1.BudgetDimension.BUDGET_DIMENSION_NONE;
    };
  }

  private static TokenExplanation.Outcome outcome(
      dev.sluice.governor.TokenExplanation.Outcome outcome) {
    return switch (outcome) {
      case GRANTED -> TokenExplanation.Outcome.GRANTED;
      case QUEUED -> TokenExplanation.Outcome.QUEUED;
      case DENIED -> TokenExplanation.Outcome.DENIED;
      case IMPOSSIBLE -> TokenExplanation.Outcome.IMPOSSIBLE;
    };
  }

  static TokenSettlement settlement(dev.sluice.governor.TokenSettlement settlement) {
    return TokenSettlement.newBuilder()
        .setModel(settlement.model())
        .setTenant(settlement.tenant())
        .setRequestedTokens(settlement.requestedTokens())
        .setReservedTokens(settlement.reservedTokens())
        .setActualTokens(settlement.actualTokens())
        .setRefundedTokens(settlement.refundedTokens())
        .setOverusedTokens(settlement.overusedTokens())
        .setExcessTokens(settlement.excessTokens())
        .build();
  }

  static TokenExplanation explanation(dev.sluice.governor.TokenExplanation explanation) {
    TokenExplanation.Builder wire =
        TokenExplanation.newBuilder()
            .setModel(explanation.model())
            .setPriority(explanation.priorityClass())
            .setTokens(explanation.tokens())
            .setOutcome(outcome(explanation.outcome()))
            .setBinding(dimension(explanation.binding()))
            .setQueuePosition(explanation.queuePosition())
            .setMessage(explanation.message());
    explanation.retryAfter().ifPresent(wait -> wire.setWaitMs(wait.toMillis()));
    explanation.eta().ifPresent(eta -> wire.setEtaMs(eta.toMillis()));
    explanation.dimensions().forEach(each -> wire.addDimensions(dimension(each)));
    return wire.build();
  }

  private static TokenExplanation.DimensionStatus dimension(
      dev.sluice.governor.TokenExplanation.DimensionStatus status) {
    TokenExplanation.DimensionStatus.Builder wire =
        TokenExplanation.DimensionStatus.newBuilder()
            .setDimension(dimension(status.dimension()))
            .setCapacity(status.capacity())
            .setAvailable(status.available())
            .setNeeded(status.needed());
    status.retryAfter().ifPresent(wait -> wire.setWaitMs(wait.toMillis()));
    return wire.build();
  }

  static dev.sluice.proto.v1.GovernorStatus status(GovernorStatus status) {
    var wire =
        dev.sluice.proto.v1.GovernorStatus.newBuilder()
            .putAllClosed(status.closed())
            .setTimestampMs(status.timestamp().toEpochMilli());
    status.models().values().forEach(each -> wire.addModels(model(each)));
    return wire.build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Model model(GovernorStatus.Model model) {
    var wire =
        dev.sluice.proto.v1.GovernorStatus.Model.newBuilder()
            .setModel(model.model())
            .setCapacity(model.capacity())
            .setAvailable(model.available())
            .setUtilizationPct(model.utilizationPct())
            .setTargetTpm(model.targetTpm())
            .setRefillRate(model.refillRate())
            .setLastRefillMs(model.lastRefill().toEpochMilli())
            .setRunning(model.running())
            .setMetrics(counts(model.counts()))
            .setAudit(audit(model.audit()))
            .setProvider(provider(model.provider()));
    model
        .queueLengths()
        .forEach(
            (name, length) ->
                wire.addQueueLengths(
                    dev.sluice.proto.v1.GovernorStatus.QueueLength.newBuilder()
                        .setPriority(name)
                        .setLength(length)));
    model.alerts().forEach(each -> wire.addAlerts(alert(each)));
    return wire.build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Counts counts(GovernorStatus.Counts counts) {
    return dev.sluice.proto.v1.GovernorStatus.Counts.newBuilder()
        .setTotalRequests(counts.totalRequests())
        .setAcceptedRequests(counts.acceptedRequests())
        .setRejectedRequests(counts.rejectedRequests())
        .setTokensConsumed(counts.tokensConsumed())
        .setRefillCount(counts.refillCount())
        .build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Audit audit(GovernorStatus.Audit audit) {
    return dev.sluice.proto.v1.GovernorStatus.Audit.newBuilder()
        .setAdmittedTokens(audit.admittedTokens())
        .setLimitTokens(audit.limitTokens())
        .setErrorTokens(audit.errorTokens())
        .setWorstTokens(audit.worstTokens())
        .setExcessTokens(audit.excessTokens())
        .build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Provider provider(
      GovernorStatus.Provider provider) {
    return dev.sluice.proto.v1.GovernorStatus.Provider.newBuilder()
        .setFactor(provider.factor())
        .setDriftTokens(provider.driftTokens())
        .setThrottled(provider.throttled())
        .build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Alert alert(GovernorStatus.Alert alert) {
    return dev.sluice.proto.v1.GovernorStatus.Alert.newBuilder()
        .setModel(alert.model())
        .setKind(alert.kind().name())
        .setValue(alert.value())
        .setThreshold(alert.threshold())
        .setAdvice(alert.advice())
        .setSinceMs(alert.since().toEpochMilli())
        .build();
  }
}
