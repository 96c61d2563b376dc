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

/** What the governor of a server says, from messages of {@code sluice.v1}. */
public final class GovernorProtoMapper {
  private GovernorProtoMapper() {}

  public static TokenDecision outcome(dev.sluice.proto.v1.TokenOutcome wire) {
    return switch (wire.getOutcomeCase()) {
      case GRANTED -> granted(wire.getGranted());
      case QUEUED -> queued(wire.getQueued());
      case REFUSED -> refused(wire.getRefused());
      case OUTCOME_NOT_SET ->
          throw new SluiceClientException(Code.INTERNAL, "the server gave an unknown outcome");
    };
  }

  private static TokenDecision.Granted granted(dev.sluice.proto.v1.TokenOutcome.Granted wire) {
    return new TokenDecision.Granted(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRequestedTokens(),
        wire.getRemaining(),
        wire.getReservation());
  }

  private static TokenDecision.Queued queued(dev.sluice.proto.v1.TokenOutcome.Queued wire) {
    return new TokenDecision.Queued(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRemaining(),
        known(wire.hasWaitMs(), wire.getWaitMs()),
        wire.getQueuePosition(),
        known(wire.hasEtaMs(), wire.getEtaMs()),
        dimension(wire.getBinding()),
        wire.getTicket());
  }

  private static Optional<Duration> known(boolean known, long millis) {
    return known ? Optional.of(Duration.ofMillis(millis)) : Optional.empty();
  }

  private static TokenDecision.Denied refused(dev.sluice.proto.v1.TokenOutcome.Refused wire) {
    return new TokenDecision.Denied(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRemaining(),
        reason(wire.getReason()),
        wire.getMessage());
  }

  private static TokenDecision.Reason reason(dev.sluice.proto.v1.TokenOutcome.Reason wire) {
    return switch (wire) {
      case EXCEEDS_CAPACITY -> TokenDecision.Reason.EXCEEDS_CAPACITY;
      case LINE_FULL -> TokenDecision.Reason.LINE_FULL;
      case DEADLINE -> TokenDecision.Reason.DEADLINE;
      case ABANDONED -> TokenDecision.Reason.ABANDONED;
      case CANCELLED -> TokenDecision.Reason.CANCELLED;
      case REMOVED -> TokenDecision.Reason.REMOVED;
      case CLOSED -> TokenDecision.Reason.CLOSED;
      case REASON_UNSPECIFIED, UNRECOGNIZED -> TokenDecision.Reason.OTHER;
    };
  }

  private static BudgetDimension dimension(dev.sluice.proto.v1.TokenDimension wire) {
    return switch (wire) {
      case TOKEN_DIMENSION_TOKENS -> BudgetDimension.TOKENS;
      case TOKEN_DIMENSION_CLASS -> BudgetDimension.CLASS;
      case TOKEN_DIMENSION_TENANT -> BudgetDimension.TENANT;
      case TOKEN_DIMENSION_REQUESTS -> BudgetDimension.REQUESTS;
      case TOKEN_DIMENSION_CONCURRENCY -> BudgetDimension.CONCURRENCY;
      case TOKEN_DIMENSION_LINE -> BudgetDimension.LINE;
      case TOKEN_DIMENSION_PROVIDER -> BudgetDimension.PROVIDER;
      case TOKEN_DIMENSION_NONE -> BudgetDimension.NONE;
      case TOKEN_DIMENSION_UNSPECIFIED, UNRECOGNIZED -> BudgetDimension.OTHER;
    };
  }

  public static TokenExplanation explanation(dev.sluice.proto.v1.TokenExplanation wire) {
    return new TokenExplanation(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        verdict(wire.getVerdict()),
        dimension(wire.getBinding()),
        wire.getQueuePosition(),
        known(wire.hasWaitMs(), wire.getWaitMs()),
        known(wire.hasEtaMs(), wire.getEtaMs()),
        wire.getMessage(),
        wire.getDimensionsList().stream().map(GovernorProtoMapper::part).toList());
  }

  private static TokenExplanation.Outcome verdict(
      dev.sluice.proto.v1.TokenExplanation.Verdict wire) {
    return switch (wire) {
      case GRANTED -> TokenExplanation.Outcome.GRANTED;
      case QUEUED -> TokenExplanation.Outcome.QUEUED;
      case REFUSED -> TokenExplanation.Outcome.REFUSED;
      case VERDICT_UNSPECIFIED, UNRECOGNIZED ->
          throw new SluiceClientException(Code.INTERNAL, "the server gave an unknown verdict");
    };
  }

  private static TokenExplanation.DimensionStatus part(
      dev.sluice.proto.v1.TokenExplanation.Part wire) {
    return new TokenExplanation.DimensionStatus(
        dimension(wire.getDimension()),
        wire.getCapacity(),
        wire.getAvailable(),
        wire.getNeeded(),
        known(wire.hasWaitMs(), wire.getWaitMs()));
  }

  public static GovernorStatus status(dev.sluice.proto.v1.GovernorStatus wire) {
    return new GovernorStatus(
        wire.getModelsList().stream().map(GovernorProtoMapper::model).toList(),
        wire.getClosedMap(),
        Instant.ofEpochMilli(wire.getTimestampMs()));
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
