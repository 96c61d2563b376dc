package dev.sluice.client;

import dev.sluice.client.SluiceClientException.Code;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** What the governor of a server says, from messages of {@code sluice.v1}. */
final class GovernorWire {
  private GovernorWire() {}

  static TokenOutcome outcome(dev.sluice.proto.v1.TokenOutcome wire) {
    return switch (wire.getOutcomeCase()) {
      case GRANTED -> granted(wire.getGranted());
      case QUEUED -> queued(wire.getQueued());
      case REFUSED -> refused(wire.getRefused());
      case OUTCOME_NOT_SET ->
          throw new SluiceClientException(Code.INTERNAL, "the server gave an unknown outcome");
    };
  }

  private static TokenOutcome.Granted granted(dev.sluice.proto.v1.TokenOutcome.Granted wire) {
    return new TokenOutcome.Granted(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRequestedTokens(),
        wire.getRemaining(),
        wire.getReservation());
  }

  private static TokenOutcome.Queued queued(dev.sluice.proto.v1.TokenOutcome.Queued wire) {
    return new TokenOutcome.Queued(
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

  private static TokenOutcome.Refused refused(dev.sluice.proto.v1.TokenOutcome.Refused wire) {
    return new TokenOutcome.Refused(
        wire.getModel(),
        wire.getPriority(),
        wire.getTokens(),
        wire.getRemaining(),
        reason(wire.getReason()),
        wire.getMessage());
  }

  private static TokenOutcome.Reason reason(dev.sluice.proto.v1.TokenOutcome.Reason wire) {
    return switch (wire) {
      case EXCEEDS_CAPACITY -> TokenOutcome.Reason.EXCEEDS_CAPACITY;
      case LINE_FULL -> TokenOutcome.Reason.LINE_FULL;
      case DEADLINE -> TokenOutcome.Reason.DEADLINE;
      case ABANDONED -> TokenOutcome.Reason.ABANDONED;
      case CANCELLED -> TokenOutcome.Reason.CANCELLED;
      case REMOVED -> TokenOutcome.Reason.REMOVED;
      case CLOSED -> TokenOutcome.Reason.CLOSED;
      case REASON_UNSPECIFIED, UNRECOGNIZED -> TokenOutcome.Reason.OTHER;
    };
  }

  private static TokenDimension dimension(dev.sluice.proto.v1.TokenDimension wire) {
    return switch (wire) {
      case TOKEN_DIMENSION_TOKENS -> TokenDimension.TOKENS;
      case TOKEN_DIMENSION_CLASS -> TokenDimension.CLASS;
      case TOKEN_DIMENSION_TENANT -> TokenDimension.TENANT;
      case TOKEN_DIMENSION_REQUESTS -> TokenDimension.REQUESTS;
      case TOKEN_DIMENSION_CONCURRENCY -> TokenDimension.CONCURRENCY;
      case TOKEN_DIMENSION_LINE -> TokenDimension.LINE;
      case TOKEN_DIMENSION_PROVIDER -> TokenDimension.PROVIDER;
      case TOKEN_DIMENSION_NONE -> TokenDimension.NONE;
      case TOKEN_DIMENSION_UNSPECIFIED, UNRECOGNIZED -> TokenDimension.OTHER;
    };
  }

  static TokenExplanation explanation(dev.sluice.proto.v1.TokenExplanation wire) {
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
        wire.getDimensionsList().stream().map(GovernorWire::part).toList());
  }

  private static TokenExplanation.Verdict verdict(
      dev.sluice.proto.v1.TokenExplanation.Verdict wire) {
    return switch (wire) {
      case GRANTED -> TokenExplanation.Verdict.GRANTED;
      case QUEUED -> TokenExplanation.Verdict.QUEUED;
      case REFUSED -> TokenExplanation.Verdict.REFUSED;
      case VERDICT_UNSPECIFIED, UNRECOGNIZED ->
          throw new SluiceClientException(Code.INTERNAL, "the server gave an unknown verdict");
    };
  }

  private static TokenExplanation.Part part(dev.sluice.proto.v1.TokenExplanation.Part wire) {
    return new TokenExplanation.Part(
        dimension(wire.getDimension()),
        wire.getCapacity(),
        wire.getAvailable(),
        wire.getNeeded(),
        known(wire.hasWaitMs(), wire.getWaitMs()));
  }

  static GovernorStatus status(dev.sluice.proto.v1.GovernorStatus wire) {
    return new GovernorStatus(
        wire.getModelsList().stream().map(GovernorWire::model).toList(),
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
        wire.getAlertsList().stream().map(GovernorWire::alert).toList());
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
