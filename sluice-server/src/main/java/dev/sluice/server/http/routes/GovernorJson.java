package dev.sluice.server.http.routes;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.operations.GovernorOperations;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** JSON of the governor; names are those of {@link JsonCodec#writeCamel}. */
public final class GovernorJson {
  private GovernorJson() {}

  /** A request for tokens. */
  public record TokenRequestJson(
      @Nullable String model,
      @Nullable Long tokens,
      @Nullable String priority,
      @Nullable String tenant,
      @Nullable Long maxWaitMs,
      @Nullable String idempotencyKey,
      @Nullable Long expectedTokens) {
    /** {@code header} is the key of the request itself, which the body need not repeat. */
    GovernorOperations.TokenRequestSpec toWanted(@Nullable String header) {
      if (model == null || tokens == null) {
        throw ApiException.invalid((model == null ? "model" : "tokens") + " is required");
      }
      return new GovernorOperations.TokenRequestSpec(
          model,
          tokens,
          priority == null ? "" : priority,
          tenant == null ? "" : tenant,
          maxWaitMs == null ? 0 : maxWaitMs,
          key(header),
          expectedTokens == null ? 0 : expectedTokens);
    }

    private String key(@Nullable String header) {
      if (header != null && idempotencyKey != null && !header.equals(idempotencyKey)) {
        throw ApiException.invalid(
            "idempotencyKey must be the same as the header Idempotency-Key, but was "
                + idempotencyKey);
      }
      String either = idempotencyKey == null ? header : idempotencyKey;
      return either == null ? "" : either;
    }
  }

  /** Names of the reasons for a denial over HTTP. */
  public enum DenialReason {
    IMPOSSIBLE,
    TOO_MANY_WAITERS,
    TIMEOUT,
    ABANDONED,
    CANCELLED,
    REMOVED,
    CLOSED,
    UNAVAILABLE;

    static DenialReason of(TokenDecision.Reason reason) {
      return switch (reason) {
        case TOO_MANY_WAITERS -> TOO_MANY_WAITERS;
        case TIMEOUT -> TIMEOUT;
        case ABANDONED -> ABANDONED;
        case CANCELLED -> CANCELLED;
        case REMOVED -> REMOVED;
        case CLOSED -> CLOSED;
        case UNAVAILABLE -> UNAVAILABLE;
      };
    }
  }

  /** Omits unknown values. */
  private static @Nullable Long millis(Optional<Duration> duration) {
    return duration.map(Duration::toMillis).orElse(null);
  }

  private static Map<String, Long> millis(Map<String, Duration> byClass) {
    Map<String, Long> all = new LinkedHashMap<>();
    byClass.forEach((name, duration) -> all.put(name, duration.toMillis()));
    return all;
  }

  /** The tokens are reserved. */
  public record GrantedJson(
      boolean granted,
      long tokens,
      long requestedTokens,
      long remaining,
      String model,
      String priority,
      String reservation) {
    static GovernorJson.GrantedJson of(TokenDecision.Granted granted) {
      return new GovernorJson.GrantedJson(
          true,
          granted.tokens(),
          granted.requestedTokens(),
          granted.remaining(),
          granted.model(),
          granted.priorityClass(),
          granted.reservation());
    }
  }

  /** A queued request. */
  public record QueuedJson(
      boolean granted,
      long tokens,
      long remaining,
      @Nullable Long waitMs,
      int queuePosition,
      @Nullable Long etaMs,
      BudgetDimension binding,
      String ticket,
      String model,
      String priority) {
    static GovernorJson.QueuedJson of(TokenDecision.Queued queued) {
      return new GovernorJson.QueuedJson(
          false,
          queued.tokens(),
          queued.remaining(),
          millis(queued.retryAfter()),
          queued.queuePosition(),
          millis(queued.eta()),
          queued.binding(),
          queued.ticket(),
          queued.model(),
          queued.priorityClass());
    }
  }

  /** A denied request. */
  public record DeniedJson(
      boolean granted,
      long tokens,
      long remaining,
      DenialReason reason,
      String message,
      String model,
      String priority) {
    static GovernorJson.DeniedJson of(TokenDecision.Denied refused) {
      return new GovernorJson.DeniedJson(
          false,
          refused.tokens(),
          refused.remaining(),
          DenialReason.of(refused.reason()),
          refused.message(),
          refused.model(),
          refused.priorityClass());
    }

    static GovernorJson.DeniedJson of(TokenDecision.Impossible impossible) {
      return new GovernorJson.DeniedJson(
          false,
          impossible.tokens(),
          impossible.remaining(),
          DenialReason.IMPOSSIBLE,
          impossible.message(),
          impossible.model(),
          impossible.priorityClass());
    }
  }

  /** Whichever it is. */
  static Object of(TokenDecision outcome) {
    if (outcome instanceof TokenDecision.Granted granted) {
      return GovernorJson.GrantedJson.of(granted);
    }
    if (outcome instanceof TokenDecision.Denied denied) {
      return GovernorJson.DeniedJson.of(denied);
    }
    return outcome instanceof TokenDecision.Impossible impossible
        ? GovernorJson.DeniedJson.of(impossible)
        : GovernorJson.QueuedJson.of((TokenDecision.Queued) outcome);
  }

  /** The predicted decision on a request. */
  public record ExplanationJson(
      String model,
      String priority,
      long tokens,
      TokenExplanation.Outcome outcome,
      BudgetDimension binding,
      int queuePosition,
      @Nullable Long waitMs,
      @Nullable Long etaMs,
      String message,
      List<GovernorJson.DimensionJson> dimensions) {
    static GovernorJson.ExplanationJson of(TokenExplanation explanation) {
      return new GovernorJson.ExplanationJson(
          explanation.model(),
          explanation.priorityClass(),
          explanation.tokens(),
          explanation.outcome(),
          explanation.binding(),
          explanation.queuePosition(),
          millis(explanation.retryAfter()),
          millis(explanation.eta()),
          explanation.message(),
          explanation.dimensions().stream().map(GovernorJson.DimensionJson::of).toList());
    }
  }

  /** The state of one dimension for a request. */
  public record DimensionJson(
      BudgetDimension dimension,
      long capacity,
      long available,
      long needed,
      @Nullable Long waitMs) {
    static GovernorJson.DimensionJson of(TokenExplanation.DimensionStatus part) {
      return new GovernorJson.DimensionJson(
          part.dimension(),
          part.capacity(),
          part.available(),
          part.needed(),
          millis(part.retryAfter()));
    }
  }

  /** Requests in line for a model. */
  public record WaitingListJson(
      String model,
      int total,
      Map<String, Long> etaMs,
      Map<String, BudgetDimension> binding,
      List<GovernorJson.QueuedTicketJson> tickets) {
    static GovernorJson.WaitingListJson of(WaitingListStatus queue) {
      return new GovernorJson.WaitingListJson(
          queue.model(),
          queue.total(),
          millis(queue.eta()),
          queue.binding(),
          queue.tickets().stream().map(GovernorJson.QueuedTicketJson::of).toList());
    }
  }

  /** A waiting ticket. */
  public record QueuedTicketJson(
      String ticket,
      String tenant,
      String priority,
      long tokens,
      int queuePosition,
      @Nullable Long etaMs,
      BudgetDimension binding,
      long waitedMs) {
    static GovernorJson.QueuedTicketJson of(WaitingListStatus.QueuedTicket place) {
      return new GovernorJson.QueuedTicketJson(
          place.ticket(),
          place.tenant(),
          place.priorityClass(),
          place.tokens(),
          place.queuePosition(),
          millis(place.eta()),
          place.binding(),
          place.waited().toMillis());
    }
  }

  /** The used tokens of a grant. */
  public record UsageJson(@Nullable Long actualTokens) {
    long tokens() {
      if (actualTokens == null) {
        throw ApiException.invalid("actualTokens is required");
      }
      return actualTokens;
    }
  }

  /** A provider's response. */
  public record ProviderResponseJson(
      @Nullable Integer status, @Nullable Map<String, @Nullable String> headers) {
    int code() {
      if (status == null) {
        throw ApiException.invalid("status is required");
      }
      return status;
    }

    Map<String, String> fields() {
      return headers == null ? Map.of() : MessageJson.present("headers", headers);
    }
  }

  /** Keys of a budget file that have no effect. */
  public record Reloaded(List<String> ignoredKeys) {}

  /** The status of all models. */
  public record Status(Map<String, Bucket> buckets, Map<String, String> closed, String timestamp) {
    static Status of(GovernorStatus status) {
      Map<String, Bucket> buckets = new LinkedHashMap<>();
      status.models().forEach((name, model) -> buckets.put(name, Bucket.of(model)));
      return new Status(buckets, status.closed(), status.timestamp().toString());
    }
  }

  /** The status of a model. */
  public record Bucket(
      long capacity,
      long available,
      String utilizationPct,
      @JsonProperty("targetTPM") long targetTpm,
      @JsonProperty("burstTPM") long burstTpm,
      double refillRate,
      String lastRefill,
      Map<String, Integer> queueLengths,
      int running,
      GovernorStatus.Counts metrics,
      GovernorStatus.Audit audit,
      GovernorStatus.Provider provider,
      List<GovernorJson.AlertJson> alerts) {
    static Bucket of(GovernorStatus.Model model) {
      return new Bucket(
          model.capacity(),
          model.available(),
          model.utilizationPct(),
          model.targetTpm(),
          model.capacity(),
          model.refillRate(),
          model.lastRefill().toString(),
          model.queueLengths(),
          model.running(),
          model.counts(),
          model.audit(),
          model.provider(),
          model.alerts().stream().map(GovernorJson.AlertJson::of).toList());
    }
  }

  /** A condition that needs attention. */
  public record AlertJson(
      GovernorStatus.Alert.Kind kind, double value, double threshold, String advice, String since) {
    static GovernorJson.AlertJson of(GovernorStatus.Alert alert) {
      return new GovernorJson.AlertJson(
          alert.kind(), alert.value(), alert.threshold(), alert.advice(), alert.since().toString());
    }
  }
}
