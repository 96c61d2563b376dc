package dev.sluice.cli.simulate;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.cli.text.JsonWriter;
import java.io.PrintWriter;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A simulation as one JSON object, with a line for each request and period. */
final class BucketJsonReport {
  private final BucketSimulation simulation;
  private final PrintWriter out;

  BucketJsonReport(BucketSimulation simulation, PrintWriter out) {
    this.simulation = simulation;
    this.out = out;
  }

  void print() {
    out.println("{\"limit\":" + limit(simulation.limit()) + ",");
    out.println("\"initialTokens\":" + simulation.initialTokens() + ",");
    printArray("requests", simulation.outcomes(), BucketJsonReport::request);
    if (simulation.periodNanos() > 0) {
      printArray("periods", simulation.periods().entrySet(), BucketJsonReport::period);
    }
    if (simulation.isWaiting()) {
      out.println("\"waits\":" + simulation.waits().json() + ",");
    }
    out.println("\"total\":" + simulation.total().putInto(JsonWriter.object()) + "}");
  }

  private <T> void printArray(String name, Iterable<T> items, Function<T, JsonWriter> json) {
    out.print(JsonWriter.quote(name) + ":[");
    String separator = "\n";
    for (T item : items) {
      out.print(separator);
      out.print(json.apply(item));
      separator = ",\n";
    }
    out.println("],");
  }

  private static JsonWriter limit(Limit limit) {
    JsonWriter json = JsonWriter.object().put("capacity", limit.capacity());
    if (limit instanceof Limit.Balanced balanced) {
      return json.put("kind", "balanced")
          .put("refillTokens", balanced.refillTokens())
          .put("refillPeriodNanos", balanced.refillPeriod().toNanos());
    }
    return limit instanceof Limit.Strict strict
        ? json.put("kind", "strict").put("periodNanos", strict.period().toNanos())
        : json.put("kind", "manual");
  }

  private static JsonWriter period(Map.Entry<Long, RequestTotals> period) {
    return period.getValue().putInto(JsonWriter.object().put("startNanos", period.getKey()));
  }

  private static JsonWriter request(BatchResult outcome) {
    RequestBatch batch = outcome.batch;
    JsonWriter json =
        JsonWriter.object()
            .put("timeNanos", batch.timeNanos())
            .put("available", outcome.available)
            .put("tokens", batch.tokens())
            .put("count", batch.count())
            .put("granted", outcome.granted)
            .put("denied", outcome.denied)
            .put("left", outcome.left);
    if (outcome.waited() > 0) {
      json.put("waited", outcome.waited()).put("served", outcome.served);
    }
    if (outcome.served > 0) {
      json.put("servedNanos", outcome.servedNanos);
    }
    if (outcome.denied > 0) {
      json.put("reason", reason(outcome.denial));
    }
    return outcome.denial instanceof Decision.Denied denied
        ? json.put("retryAfterNanos", denied.retryAfterNanos())
        : json;
  }

  private static String reason(@Nullable Decision denial) {
    if (denial == null) {
      return "debt overflow";
    }
    if (denial instanceof Decision.Impossible) {
      return "above capacity";
    }
    return denial instanceof Decision.Denied ? "not yet" : "no refill";
  }
}
