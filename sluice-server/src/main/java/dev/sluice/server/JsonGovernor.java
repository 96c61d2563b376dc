package dev.sluice.server;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.sluice.governor.Alert;
import dev.sluice.governor.AuditReport;
import dev.sluice.governor.Counts;
import dev.sluice.governor.Dimension;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelQueue;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.ProviderStanding;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What the governor reads and says over HTTP; names are those of {@link Json#writeCamel}. */
final class JsonGovernor {
  private JsonGovernor() {}

  /** What somebody asks for. */
  record Ask(
      @Nullable String model,
      @Nullable Long tokens,
      @Nullable String priority,
      @Nullable String tenant,
      @Nullable Long deadlineMs,
      @Nullable String idempotencyKey,
      @Nullable Long expectedTokens) {
    /** {@code header} is the key of the request itself, which the body need not repeat. */
    GovernorApi.Wanted toWanted(@Nullable String header) {
      if (model == null || tokens == null) {
        throw ApiException.invalid((model == null ? "model" : "tokens") + " must be there");
      }
      return new GovernorApi.Wanted(
          model,
          tokens,
          priority == null ? "" : priority,
          tenant == null ? "" : tenant,
          deadlineMs == null ? 0 : deadlineMs,
          key(header),
          expectedTokens == null ? 0 : expectedTokens);
    }

    private String key(@Nullable String header) {
      if (header != null && idempotencyKey != null && !header.equals(idempotencyKey)) {
        throw ApiException.invalid(
            "idempotencyKey must be the same as the header Idempotency-Key: " + idempotencyKey);
      }
      String either = idempotencyKey == null ? header : idempotencyKey;
      return either == null ? "" : either;
    }
  }

  /** What is unknown is left out. */
  private static @Nullable Long known(OptionalLong millis) {
    return millis.isPresent() ? millis.getAsLong() : null;
  }

  /** The tokens are reserved. */
  record Grant(
      boolean granted,
      long tokens,
      long requestedTokens,
      long remaining,
      String model,
      String priority,
      String reservation) {
    static Grant of(Outcome.Granted granted) {
      return new Grant(
          true,
          granted.tokens(),
          granted.requestedTokens(),
          granted.remaining(),
          granted.model(),
          granted.priority(),
          granted.reservation());
    }
  }

  /** It is in line. */
  record Place(
      boolean granted,
      long tokens,
      long remaining,
      @Nullable Long waitMs,
      int queuePosition,
      @Nullable Long etaMs,
      Dimension binding,
      String ticket,
      String model,
      String priority) {
    static Place of(Outcome.Queued queued) {
      return new Place(
          false,
          queued.tokens(),
          queued.remaining(),
          known(queued.waitMs()),
          queued.queuePosition(),
          known(queued.etaMs()),
          queued.binding(),
          queued.ticket(),
          queued.model(),
          queued.priority());
    }
  }

  /** It is neither. */
  record Refusal(
      boolean granted,
      long tokens,
      long remaining,
      Outcome.Reason reason,
      String message,
      String model,
      String priority) {
    static Refusal of(Outcome.Refused refused) {
      return new Refusal(
          false,
          refused.tokens(),
          refused.remaining(),
          refused.reason(),
          refused.message(),
          refused.model(),
          refused.priority());
    }
  }

  /** Whichever it is. */
  static Object of(Outcome outcome) {
    if (outcome instanceof Outcome.Granted granted) {
      return Grant.of(granted);
    }
    return outcome instanceof Outcome.Refused refused
        ? Refusal.of(refused)
        : Place.of((Outcome.Queued) outcome);
  }

  /** What would become of a request. */
  record Foretold(
      String model,
      String priority,
      long tokens,
      Explanation.Verdict verdict,
      Dimension binding,
      int queuePosition,
      @Nullable Long waitMs,
      @Nullable Long etaMs,
      String message,
      List<Part> dimensions) {
    static Foretold of(Explanation explanation) {
      return new Foretold(
          explanation.model(),
          explanation.priority(),
          explanation.tokens(),
          explanation.verdict(),
          explanation.binding(),
          explanation.queuePosition(),
          known(explanation.waitMs()),
          known(explanation.etaMs()),
          explanation.message(),
          explanation.dimensions().stream().map(Part::of).toList());
    }
  }

  /** How one dimension stands for a request. */
  record Part(
      Dimension dimension, long capacity, long available, long needed, @Nullable Long waitMs) {
    static Part of(Explanation.Part part) {
      return new Part(
          part.dimension(), part.capacity(), part.available(), part.needed(), known(part.waitMs()));
    }
  }

  /** Requests in line for a model. */
  record Line(
      String model,
      int total,
      Map<String, Long> etaMs,
      Map<String, Dimension> binding,
      List<InLine> tickets) {
    static Line of(ModelQueue queue) {
      return new Line(
          queue.model(),
          queue.total(),
          queue.etaMs(),
          queue.binding(),
          queue.tickets().stream().map(InLine::of).toList());
    }
  }

  /** One of them. */
  record InLine(
      String ticket,
      String tenant,
      String priority,
      long tokens,
      int queuePosition,
      @Nullable Long etaMs,
      Dimension binding,
      long waitedMs) {
    static InLine of(ModelQueue.Place place) {
      return new InLine(
          place.ticket(),
          place.tenant(),
          place.priority(),
          place.tokens(),
          place.queuePosition(),
          known(place.etaMs()),
          place.binding(),
          place.waitedMs());
    }
  }

  /** What was used of a grant. */
  record Usage(@Nullable Long actualTokens) {
    long tokens() {
      if (actualTokens == null) {
        throw ApiException.invalid("actualTokens must be there");
      }
      return actualTokens;
    }
  }

  /** How a provider answered. */
  record Answer(@Nullable Integer status, @Nullable Map<String, @Nullable String> headers) {
    int code() {
      if (status == null) {
        throw ApiException.invalid("status must be there");
      }
      return status;
    }

    Map<String, String> fields() {
      return headers == null ? Map.of() : JsonMessages.present("headers", headers);
    }
  }

  /** What a budget file says to no effect. */
  record Reloaded(List<String> withoutEffect) {}

  /** How all models stand. */
  record Status(Map<String, Bucket> buckets, Map<String, String> closed, String timestamp) {
    static Status of(GovernorStatus status) {
      Map<String, Bucket> buckets = new LinkedHashMap<>();
      status.buckets().forEach((name, model) -> buckets.put(name, Bucket.of(model)));
      return new Status(buckets, status.closed(), status.timestamp().toString());
    }
  }

  /** How a model stands. */
  record Bucket(
      long capacity,
      long available,
      String utilizationPct,
      @JsonProperty("targetTPM") long targetTpm,
      @JsonProperty("burstTPM") long burstTpm,
      double refillRate,
      String lastRefill,
      Map<String, Integer> queueLengths,
      int running,
      Counts metrics,
      AuditReport audit,
      ProviderStanding provider,
      List<Warning> alerts) {
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
          model.metrics(),
          model.audit(),
          model.provider(),
          model.alerts().stream().map(Warning::of).toList());
    }
  }

  /** What somebody should look at. */
  record Warning(Alert.Kind kind, double value, double threshold, String advice, String since) {
    static Warning of(Alert alert) {
      return new Warning(
          alert.kind(), alert.value(), alert.threshold(), alert.advice(), alert.since().toString());
    }
  }
}
