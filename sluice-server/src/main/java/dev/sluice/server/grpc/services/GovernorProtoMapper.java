package dev.sluice.server.grpc.services;

import dev.sluice.governor.Alert;
import dev.sluice.governor.AuditReport;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.Counts;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ProviderStanding;
import dev.sluice.governor.TokenDecision;
import dev.sluice.proto.v1.TokenDimension;
import dev.sluice.proto.v1.TokenExplanation;
import dev.sluice.proto.v1.TokenOutcome;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.proto.v1.TokenSettlement;
import dev.sluice.server.operations.GovernorOperations;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;

/** What the governor says, as messages of {@code sluice.v1}. */
final class GovernorProtoMapper {
  private GovernorProtoMapper() {}

  static GovernorOperations.TokenRequestSpec wanted(TokenRequest wire) {
    return new GovernorOperations.TokenRequestSpec(
        wire.getModel(),
        wire.getTokens(),
        wire.getPriority(),
        wire.getTenant(),
        wire.getDeadlineMs(),
        wire.getIdempotencyKey(),
        wire.getExpectedTokens());
  }

  /**
   * What became of a request or a ticket.
   *
   * @throws ApiException if nobody could decide, which is an error on this wire
   */
  static TokenOutcome outcome(TokenDecision outcome) {
    TokenOutcome.Builder wire = TokenOutcome.newBuilder();
    if (outcome instanceof TokenDecision.Granted granted) {
      wire.setGranted(
          TokenOutcome.Granted.newBuilder()
              .setModel(granted.model())
              .setPriority(granted.priority())
              .setTokens(granted.tokens())
              .setRequestedTokens(granted.requestedTokens())
              .setRemaining(granted.remaining())
              .setReservation(granted.reservation()));
    } else if (outcome instanceof TokenDecision.Queued queued) {
      wire.setQueued(queued(queued));
    } else if (outcome instanceof TokenDecision.Denied refused) {
      requireDecided(refused);
      wire.setRefused(
          TokenOutcome.Refused.newBuilder()
              .setModel(refused.model())
              .setPriority(refused.priority())
              .setTokens(refused.tokens())
              .setRemaining(refused.remaining())
              .setReason(TokenOutcome.Reason.valueOf(refused.reason().name()))
              .setMessage(refused.message()));
    }
    return wire.build();
  }

  /** What is unknown is absent. */
  private static TokenOutcome.Queued queued(TokenDecision.Queued queued) {
    TokenOutcome.Queued.Builder wire =
        TokenOutcome.Queued.newBuilder()
            .setModel(queued.model())
            .setPriority(queued.priority())
            .setTokens(queued.tokens())
            .setRemaining(queued.remaining())
            .setQueuePosition(queued.queuePosition())
            .setBinding(dimension(queued.binding()))
            .setTicket(queued.ticket());
    queued.waitMs().ifPresent(wire::setWaitMs);
    queued.etaMs().ifPresent(wire::setEtaMs);
    return wire.build();
  }

  private static void requireDecided(TokenDecision.Denied refused) {
    if (refused.reason().name().equals(ErrorKind.UNAVAILABLE.name())) {
      throw new ApiException(ErrorKind.UNAVAILABLE, refused.message());
    }
  }

  private static TokenDimension dimension(BudgetDimension dimension) {
    return TokenDimension.valueOf("TOKEN_DIMENSION_" + dimension.name());
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
            .setPriority(explanation.priority())
            .setTokens(explanation.tokens())
            .setVerdict(TokenExplanation.Verdict.valueOf(explanation.verdict().name()))
            .setBinding(dimension(explanation.binding()))
            .setQueuePosition(explanation.queuePosition())
            .setMessage(explanation.message());
    explanation.waitMs().ifPresent(wire::setWaitMs);
    explanation.etaMs().ifPresent(wire::setEtaMs);
    explanation.dimensions().forEach(part -> wire.addDimensions(part(part)));
    return wire.build();
  }

  private static TokenExplanation.Part part(
      dev.sluice.governor.TokenExplanation.DimensionStatus part) {
    TokenExplanation.Part.Builder wire =
        TokenExplanation.Part.newBuilder()
            .setDimension(dimension(part.dimension()))
            .setCapacity(part.capacity())
            .setAvailable(part.available())
            .setNeeded(part.needed());
    part.waitMs().ifPresent(wire::setWaitMs);
    return wire.build();
  }

  static dev.sluice.proto.v1.GovernorStatus status(GovernorStatus status) {
    var wire =
        dev.sluice.proto.v1.GovernorStatus.newBuilder()
            .putAllClosed(status.closed())
            .setTimestampMs(status.timestamp().toEpochMilli());
    status.buckets().values().forEach(each -> wire.addModels(model(each)));
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
            .setMetrics(counts(model.metrics()))
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

  private static dev.sluice.proto.v1.GovernorStatus.Counts counts(Counts counts) {
    return dev.sluice.proto.v1.GovernorStatus.Counts.newBuilder()
        .setTotalRequests(counts.totalRequests())
        .setAcceptedRequests(counts.acceptedRequests())
        .setRejectedRequests(counts.rejectedRequests())
        .setTokensConsumed(counts.tokensConsumed())
        .setRefillCount(counts.refillCount())
        .build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Audit audit(AuditReport audit) {
    return dev.sluice.proto.v1.GovernorStatus.Audit.newBuilder()
        .setAdmittedTokens(audit.admittedTokens())
        .setLimitTokens(audit.limitTokens())
        .setErrorTokens(audit.errorTokens())
        .setWorstTokens(audit.worstTokens())
        .setExcessTokens(audit.excessTokens())
        .build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Provider provider(ProviderStanding provider) {
    return dev.sluice.proto.v1.GovernorStatus.Provider.newBuilder()
        .setFactor(provider.factor())
        .setDriftTokens(provider.driftTokens())
        .setThrottled(provider.throttled())
        .build();
  }

  private static dev.sluice.proto.v1.GovernorStatus.Alert alert(Alert alert) {
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
