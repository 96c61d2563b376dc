package dev.sluice.cli.commands;

import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Numbers;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.cli.text.TextTable;
import dev.sluice.client.BudgetDimension;
import dev.sluice.client.GovernorStatus;
import dev.sluice.client.TokenDecision;
import dev.sluice.client.TokenExplanation;
import dev.sluice.client.TokenExplanation.Outcome;
import dev.sluice.client.TokenSettlement;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;

/** Formats values of the governor as text, and as JSON with the names of the HTTP interface. */
final class GovernorOutput {
  private static final TextTable<TokenExplanation.DimensionStatus> DIMENSIONS =
      new TextTable<>(
          1,
          List.of("DIMENSION", "AVAILABLE", "NEEDED", "CAPACITY", "WAIT"),
          part ->
              List.of(
                  lower(part.dimension()),
                  Long.toString(part.available()),
                  Long.toString(part.needed()),
                  Long.toString(part.capacity()),
                  part.retryAfter().map(GovernorOutput::text).orElse(withoutWait(part))));

  private static final TextTable<GovernorStatus.Model> MODELS =
      new TextTable<>(
          1,
          List.of(
              "MODEL",
              "AVAILABLE",
              "CAPACITY",
              "USED %",
              "TOKENS/MIN",
              "RUNNING",
              "WAITING",
              "REQUESTS",
              "AT ONCE"),
          model ->
              List.of(
                  model.model(),
                  Long.toString(model.available()),
                  Long.toString(model.capacity()),
                  model.utilizationPct(),
                  Long.toString(model.targetTpm()),
                  Integer.toString(model.running()),
                  Integer.toString(waiting(model)),
                  Long.toString(model.metrics().totalRequests()),
                  Long.toString(model.metrics().acceptedRequests())));

  private GovernorOutput() {}

  /** Returns why a dimension has no wait. */
  private static String withoutWait(TokenExplanation.DimensionStatus part) {
    return part.needed() > part.capacity() ? "never" : "unknown";
  }

  private static int waiting(GovernorStatus.Model model) {
    return model.queueLengths().values().stream().mapToInt(Integer::intValue).sum();
  }

  private static String lower(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private static String text(Duration duration) {
    return Durations.format(duration.toNanos());
  }

  static String progress(TokenDecision.Queued queued) {
    return "waiting for %s: position %d, %s"
        .formatted(
            TerminalText.line(queued.model()),
            queued.queuePosition(),
            when(queued.eta(), queued.binding()));
  }

  /** Returns the estimated wait and the dimension that determines it. */
  private static String when(Optional<Duration> eta, BudgetDimension binding) {
    return eta.map(known -> "about %s, bound by %s".formatted(text(known), lower(binding)))
        .orElseGet(() -> "unknown: " + lower(binding));
  }

  static String[] lines(TokenDecision outcome) {
    if (outcome instanceof TokenDecision.Granted granted) {
      return new String[] {
        "granted      %d tokens of %s, %d left"
            .formatted(granted.tokens(), granted.model(), granted.remaining()),
        "reservation  " + granted.reservation()
      };
    }
    if (outcome instanceof TokenDecision.Queued queued) {
      return new String[] {
        progress(queued),
        "ticket " + queued.ticket(),
        "it is removed if it is not polled for ticket_idle_timeout_ms, 30s by default"
      };
    }
    return outcome instanceof TokenDecision.Impossible impossible
        ? new String[] {"impossible: " + impossible.message()}
        : new String[] {"denied: " + ((TokenDecision.Denied) outcome).message()};
  }

  static JsonWriter json(TokenDecision outcome) {
    JsonWriter json = JsonWriter.object().put("granted", outcome.isGranted());
    if (outcome instanceof TokenDecision.Granted granted) {
      json.put("tokens", granted.tokens())
          .put("requestedTokens", granted.requestedTokens())
          .put("remaining", granted.remaining())
          .put("reservation", granted.reservation());
    } else if (outcome instanceof TokenDecision.Queued queued) {
      json.put("tokens", queued.tokens())
          .put("remaining", queued.remaining())
          .put("queuePosition", queued.queuePosition())
          .put("binding", queued.binding().name())
          .put("ticket", queued.ticket());
      putKnown(json, "waitMs", queued.retryAfter());
      putKnown(json, "etaMs", queued.eta());
    } else if (outcome instanceof TokenDecision.Denied denied) {
      putDenial(json, denied, denied.reason().name(), denied.message());
    } else if (outcome instanceof TokenDecision.Impossible impossible) {
      putDenial(json, impossible, "IMPOSSIBLE", impossible.message());
    }
    return json.put("model", outcome.model()).put("priority", outcome.priorityClass());
  }

  private static void putDenial(
      JsonWriter json, TokenDecision decision, String reason, String message) {
    json.put("tokens", decision.tokens())
        .put("remaining", decision.remaining())
        .put("reason", reason)
        .put("message", message);
  }

  /** Puts {@code time} in milliseconds, unless it is unknown. */
  private static JsonWriter putKnown(JsonWriter json, String name, Optional<Duration> time) {
    time.ifPresent(known -> json.put(name, known.toMillis()));
    return json;
  }

  static JsonWriter json(TokenSettlement settled) {
    return JsonWriter.object()
        .put("model", settled.model())
        .put("tenant", settled.tenant())
        .put("requestedTokens", settled.requestedTokens())
        .put("reservedTokens", settled.reservedTokens())
        .put("actualTokens", settled.actualTokens())
        .put("refundedTokens", settled.refundedTokens())
        .put("overusedTokens", settled.overusedTokens())
        .put("excessTokens", settled.excessTokens());
  }

  static void print(TokenExplanation explanation, PrintWriter out) {
    out.println(TerminalText.line(explanation.message()));
    if (explanation.outcome() == Outcome.QUEUED) {
      out.println(
          "position %d, %s"
              .formatted(
                  explanation.queuePosition(), when(explanation.eta(), explanation.binding())));
    }
    DIMENSIONS.print(explanation.dimensions(), out);
  }

  static JsonWriter json(TokenExplanation explanation) {
    JsonWriter json =
        JsonWriter.object()
            .put("model", explanation.model())
            .put("priority", explanation.priorityClass())
            .put("tokens", explanation.tokens())
            .put("outcome", explanation.outcome().name())
            .put("binding", explanation.binding().name())
            .put("queuePosition", explanation.queuePosition());
    putKnown(json, "waitMs", explanation.retryAfter());
    putKnown(json, "etaMs", explanation.eta());
    return json.put("message", explanation.message())
        .putObjects(
            "dimensions", explanation.dimensions().stream().map(GovernorOutput::json).toList());
  }

  private static JsonWriter json(TokenExplanation.DimensionStatus part) {
    JsonWriter json =
        JsonWriter.object()
            .put("dimension", part.dimension().name())
            .put("capacity", part.capacity())
            .put("available", part.available())
            .put("needed", part.needed());
    return putKnown(json, "waitMs", part.retryAfter());
  }

  static void print(GovernorStatus status, PrintWriter out) {
    if (status.models().isEmpty() && status.closed().isEmpty()) {
      out.println("no model has a budget; sluice governor init writes a budget file to start from");
      return;
    }
    if (!status.models().isEmpty()) {
      MODELS.print(List.copyOf(status.models().values()), out);
    }
    new TreeMap<>(status.closed())
        .values()
        .forEach(reason -> out.println(TerminalText.line("closed: " + reason)));
    for (GovernorStatus.Model model : status.models().values()) {
      for (GovernorStatus.Alert alert : model.alerts()) {
        out.println(
            TerminalText.line(
                "alert: %s %s, value %s, threshold %s since %s: %s"
                    .formatted(
                        model.model(),
                        alert.kind(),
                        Numbers.format(alert.value()),
                        Numbers.format(alert.threshold()),
                        alert.since(),
                        alert.advice())));
      }
    }
  }

  static JsonWriter json(GovernorStatus status) {
    JsonWriter buckets = JsonWriter.object();
    status.models().forEach((name, model) -> buckets.put(name, json(model)));
    JsonWriter closed = JsonWriter.object();
    new TreeMap<>(status.closed()).forEach(closed::put);
    return JsonWriter.object()
        .put("buckets", buckets)
        .put("closed", closed)
        .put("timestamp", status.timestamp().toString());
  }

  private static JsonWriter json(GovernorStatus.Model model) {
    JsonWriter lengths = JsonWriter.object();
    model.queueLengths().forEach((name, length) -> lengths.put(name, (long) length));
    return JsonWriter.object()
        .put("capacity", model.capacity())
        .put("available", model.available())
        .put("utilizationPct", model.utilizationPct())
        .put("targetTPM", model.targetTpm())
        .put("burstTPM", model.capacity())
        .put("refillRate", model.refillRate())
        .put("lastRefill", model.lastRefill().toString())
        .put("queueLengths", lengths)
        .put("running", model.running())
        .put("metrics", json(model.metrics()))
        .put("audit", json(model.audit()))
        .put("provider", json(model.provider()))
        .putObjects("alerts", model.alerts().stream().map(GovernorOutput::json).toList());
  }

  private static JsonWriter json(GovernorStatus.Counts counts) {
    return JsonWriter.object()
        .put("totalRequests", counts.totalRequests())
        .put("acceptedRequests", counts.acceptedRequests())
        .put("rejectedRequests", counts.rejectedRequests())
        .put("tokensConsumed", counts.tokensConsumed())
        .put("refillCount", counts.refillCount());
  }

  private static JsonWriter json(GovernorStatus.Audit audit) {
    return JsonWriter.object()
        .put("admittedTokens", audit.admittedTokens())
        .put("limitTokens", audit.limitTokens())
        .put("errorTokens", audit.errorTokens())
        .put("worstTokens", audit.worstTokens())
        .put("excessTokens", audit.excessTokens());
  }

  private static JsonWriter json(GovernorStatus.Provider provider) {
    return JsonWriter.object()
        .put("factor", provider.factor())
        .put("driftTokens", provider.driftTokens())
        .put("throttled", provider.throttled());
  }

  private static JsonWriter json(GovernorStatus.Alert alert) {
    return JsonWriter.object()
        .put("kind", alert.kind())
        .put("value", alert.value())
        .put("threshold", alert.threshold())
        .put("advice", alert.advice())
        .put("since", alert.since().toString());
  }
}
