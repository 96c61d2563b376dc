package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.JsonWriter;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes the result of a scenario as one JSON object, without missing figures. */
public final class ScenarioJsonReport {
  private static final double MILLI_NANOS = 1e6;

  private ScenarioJsonReport() {}

  public static JsonWriter of(ScenarioResult result, @Nullable String report) {
    Scenario scenario = result.scenario();
    JsonWriter json =
        JsonWriter.object()
            .put("title", scenario.title())
            .put("duration_ms", (long) (scenario.durationNanos() / MILLI_NANOS))
            .put("seed", scenario.seed())
            .putObjects("queues", result.queues().stream().map(ScenarioJsonReport::queue).toList())
            .putObjects(
                "throttles",
                result.throttles().stream()
                    .map(each -> throttle(each, scenario.durationNanos()))
                    .toList())
            .putObjects(
                "models",
                result.models().stream()
                    .map(each -> model(each, scenario.durationNanos()))
                    .toList())
            .putObjects(
                "classes", result.classes().stream().map(ScenarioJsonReport::inClass).toList())
            .putObjects(
                "callers", result.callers().stream().map(ScenarioJsonReport::caller).toList());
    return report == null ? json : json.put("report", report);
  }

  private static JsonWriter queue(QueueMeter queue) {
    double[] due = queue.dueShares();
    double served = queue.served();
    List<JsonWriter> tenants = new ArrayList<>();
    for (int i = 0; i < due.length; i++) {
      Scenario.Tenant tenant = queue.queue.tenants().get(i);
      TrafficMeter flow = queue.tenants.get(i);
      JsonWriter json =
          JsonWriter.object()
              .put("tenant", tenant.name())
              .put("count", tenant.count())
              .put("weight", tenant.weight())
              .put("arrived", flow.count())
              .put("due_share", due[i]);
      number(json, "share", served == 0 ? Double.NaN : flow.fair.served() / served);
      tenants.add(both(json, flow, "served"));
    }
    return JsonWriter.object()
        .put("queue", queue.queue.name())
        .put("workers", queue.queue.workers())
        .put("busy_workers", queue.workers.mean())
        .putObjects("tenants", tenants);
  }

  private static JsonWriter both(JsonWriter json, TrafficMeter flow, String served) {
    return passage(json, flow.fair, served)
        .put("fifo", passage(JsonWriter.object(), flow.fifo, served));
  }

  private static JsonWriter passage(JsonWriter json, TrafficResult passage, String served) {
    json.put(served, passage.served()).put("left_waiting", passage.left());
    JsonWriter refusals = JsonWriter.object();
    passage.refusals().forEach(refusals::put);
    json.put("refused", passage.refused()).put("refusals", refusals);
    number(json, "wait_p50_s", passage.waitSeconds(50));
    number(json, "wait_p99_s", passage.waitSeconds(99));
    number(json, "wait_max_s", passage.waitSeconds(100));
    return json;
  }

  private static void number(JsonWriter json, String name, double value) {
    if (!Double.isNaN(value)) {
      json.put(name, value);
    }
  }

  private static JsonWriter throttle(LimitMeter meter, long duration) {
    GrantedTokenMeter worst = meter.worst();
    JsonWriter json =
        JsonWriter.object()
            .put("throttle", meter.throttle.key())
            .put("rate_per_second", meter.throttle.rate())
            .put("burst", meter.throttle.burst())
            .put("keys", meter.keys())
            .put("taken", meter.total());
    number(json, "used", meter.used(duration));
    return json.put("window_ms", (long) (worst.windowNanos() / MILLI_NANOS))
        .put("worst_window", worst.worst())
        .put("legal_window", worst.legal());
  }

  private static JsonWriter model(ModelUsageMeter meter, long duration) {
    return JsonWriter.object()
        .put("model", meter.name)
        .put("target_tpm", meter.budget.tokens().refillTokens())
        .put("burst_tpm", meter.budget.tokens().capacity())
        .put("charged", Math.round(meter.total()))
        .put("used", meter.used(duration))
        .put("worst_minute", meter.audit().worstTokens())
        .put("legal_minute", meter.audit().limitTokens())
        .put("over_limit", meter.audit().errorTokens());
  }

  private static JsonWriter inClass(ScenarioResult.ClassMeter each) {
    return both(
        JsonWriter.object()
            .put("model", each.model())
            .put("class", each.flow().name)
            .put("requested", each.flow().count()),
        each.flow(),
        "granted");
  }

  private static JsonWriter caller(ScenarioResult.CallerMeter each) {
    return both(
        JsonWriter.object()
            .put("caller", each.caller().name())
            .put("count", each.caller().count())
            .put("model", each.caller().model())
            .put("class", each.caller().priority())
            .put("requested", each.flow().count()),
        each.flow(),
        "granted");
  }
}
