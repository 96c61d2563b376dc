package dev.sluice.client.internal;

import dev.sluice.client.BudgetDimension;
import dev.sluice.client.GovernorStatus;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.TokenDecision;
import dev.sluice.client.TokenExplanation;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** Maps the governor messages of {@code sluice.v1} to values of the client. */
public final class GovernorProtoMapper {
  private GovernorProtoMapper() {}

  public static TokenDecision decision(dev.sluice.proto.v1.TokenDecision wire) {
    return switch (wire.getDecisionCase()) {
      case GRANTED -> granted(wire.getGranted());
      case QUEUED -> queued(wire.getQueued());
      case DENIED -> denied(wire.getDenied());
      case IMPOSSIBLE -> impossible(wire.getImpossible());
      case DECISION_NOT_SET ->
          throw new SluiceClientException(Code.INTERNAL, "the server returned an unknown decision");
    };
  }

  private static TokenDecision.Granted granted(dev.sluice.proto.v1.TokenDecision.Granted wire) {
    return new TokenDecision.Granted(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRemaining(),
        wire.getRequestedTokens(),
        wire.getReservation());
  }

  private static TokenDecision.Queued queued(dev.sluice.proto.v1.TokenDecision.Queued wire) {
    return new TokenDecision.Queued(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRemaining(),
        duration(wire.hasWaitMs(), wire.getWaitMs()),
        wire.getQueuePosition(),
        duration(wire.hasEtaMs(), wire.getEtaMs()),
        dimension(wire.getBinding()),
        wire.getTicket());
  }

  private static Optional<Duration> duration(boolean known, long millis) {
    return known ? Optional.of(Duration.ofMillis(millis)) : Optional.empty();
  }

  private static TokenDecision.Denied denied(dev.sluice.proto.v1.TokenDecision.Denied wire) {
    return new TokenDecision.Denied(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRemaining(),
        reason(wire.getReason()),
        wire.getMessage());
  }

  private static TokenDecision.Impossible impossible(
      dev.sluice.proto.v1.TokenDecision.Impossible wire) {
    return new TokenDecision.Impossible(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRemaining(),
        wire.getMessage());
  }

  private static TokenDecision.Reason reason(dev.sluice.proto.v1.TokenDecision.Reason wire) {
    return switch (wire) {
      case TOO_MANY_WAITERS -> TokenDecision.Reason.TOO_MANY_WAITERS;
      case TIMEOUT -> TokenDecision.Reason.TIMEOUT;
      case ABANDONED -> TokenDecision.Reason.ABANDONED;
      case CANCELLED -> TokenDecision.Reason.CANCELLED;
      case REMOVED -> TokenDecision.Reason.REMOVED;
      case CLOSED -> TokenDecision.Reason.CLOSED;
      case REASON_UNSPECIFIED, UNRECOGNIZED -> TokenDecision.Reason.OTHER;
    };
  }

  private static BudgetDimension dimension(dev.sluice.proto.v1.BudgetDimension wire) {
    return switch (wire) {
      case BUDGET_DIMENSION_TOKENS -> BudgetDimension.TOKENS;
      case BUDGET_DIMENSION_PRIORITY_CLASS -> BudgetDimension.PRIORITY_CLASS;
      case BUDGET_DIMENSION_TENANT -> BudgetDimension.TENANT;
      case BUDGET_DIMENSION_REQUESTS -> BudgetDimension.REQUESTS;
      case BUDGET_DIMENSION_CONCURRENCY -> BudgetDimension.CONCURRENCY;
      case BUDGET_DIMENSION_WAITING_LIST -> BudgetDimension.WAITING_LIST;
      case BUDGET_DIMENSION_PROVIDER -> BudgetDimension.PROVIDER;
      case BUDGET_DIMENSION_NONE -> BudgetDimension.NONE;
      case BUDGET_DIMENSION_UNSPECIFIED, UNRECOGNIZED -> BudgetDimension.OTHER;
    };
  }

  public static TokenExplanation explanation(dev.sluice.proto.v1.TokenExplanation wire) {
    return new TokenExplanation(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        outcome(wire.getOutcome()),
        dimension(wire.getBinding()),
        wire.getQueuePosition(),
        duration(wire.hasWaitMs(), wire.getWaitMs()),
        duration(wire.hasEtaMs(), wire.getEtaMs()),
        wire.getMessage(),
        wire.getDimensionsList().stream().map(GovernorProtoMapper::dimensionStatus).toList());
  }

  private static TokenExplanation.Outcome outcome(
      dev.sluice.proto.v1.TokenExplanation.Outcome wire) {
    return switch (wire) {
      case GRANTED -> TokenExplanation.Outcome.GRANTED;
      case QUEUED -> TokenExplanation.Outcome.QUEUED;
      case DENIED -> TokenExplanation.Outcome.DENIED;
      case IMPOSSIBLE -> TokenExplanation.Outcome.IMPOSSIBLE;
      case OUTCOME_UNSPECIFIED, UNRECOGNIZED -> TokenExplanation.Outcome.OTHER;
    };
  }

  private static TokenExplanation.DimensionStatus dimensionStatus(
      dev.sluice.proto.v1.TokenExplanation.DimensionStatus wire) {
    return new TokenExplanation.DimensionStatus(
        dimension(wire.getDimension()),
        wire.getCapacity(),
        wire.getAvailable(),
        wire.getNeeded(),
        duration(wire.hasWaitMs(), wire.getWaitMs()));
  }

  public static GovernorStatus status(dev.sluice.proto.v1.GovernorStatus wire) {
    Map<String, GovernorStatus.Model> models = new LinkedHashMap<>();
    wire.getModelsList().forEach(each -> models.put(each.getModel(), model(each)));
    return new GovernorStatus(
        models, wire.getClosedMap(), Instant.ofEpochMilli(wire.getTimestampMs()));
  }

  private static GovernorStatus.Model model(dev.sluice.proto.v1.GovernorStatus.Model wire) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    wire.getQueueLengthsList().forEach(each -> lengths.put(each.getPriority(), each.getLength()));
    return new GovernorStatus.Model(
        wire.getModel(),
        wire.getCapacity(),
        wire.getAvailable(),
        wire.getUtilizationPct(),
        wire.getTargetTpm(),
        wire.getRefillRate(),
        Instant.ofEpochMilli(wire.getLastRefillMs()),
        lengths,
        wire.getRunning(),
        counts(wire.getMetrics()),
        audit(wire.getAudit()),
        provider(wire.getProvider()),
        wire.getAlertsList().stream().map(GovernorProtoMapper::alert).toList());
  }

  private static GovernorStatus.Counts counts(dev.sluice.proto.v1.GovernorStatus.Counts wire) {
    return new GovernorStatus.Counts(
        wire.getTotalRequests(),
        wire.getAcceptedRequests(),
        wire.getRejectedRequests(),
        wire.getTokensConsumed(),
        wire.getRefillCount());
  }

  private static GovernorStatus.Audit audit(dev.sluice.proto.v1.GovernorStatus.Audit wire) {
    return new GovernorStatus.Audit(
        wire.getAdmittedTokens(),
        wire.getLimitTokens(),
        wire.getErrorTokens(),
        wire.getWorstTokens(),
        wire.getExcessTokens());
  }

  private static GovernorStatus.Provider provider(
      dev.sluice.proto.v1.GovernorStatus.Provider wire) {
    return new GovernorStatus.Provider(
        wire.getFactor(), wire.getDriftTokens(), wire.getThrottled());
  }

  private static GovernorStatus.Alert alert(dev.sluice.proto.v1.GovernorStatus.Alert wire) {
    return new GovernorStatus.Alert(
        wire.getKind(),
        wire.getValue(),
        wire.getThreshold(),
        wire.getAdvice(),
        Instant.ofEpochMilli(wire.getSinceMs()));
  }
}
