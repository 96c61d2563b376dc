package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.FigureFormat;
import dev.sluice.governor.GovernorStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The result of a scenario as sentences and tables, for a terminal and for a page. */
final class ScenarioTables {
  /** A wait shorter than this counts as this when waits are compared. */
  private static final double SHORTEST_WAIT = 0.001;

  /** The smallest gain that the summary mentions. */
  private static final double ALIKE = 1.5;

  private static final double HARDLY_COUNTED = 1_000;

  /** Columns that are empty unless arrivals were left or refused. */
  private static final Set<String> EXCEPTIONS =
      Set.of("left", "refused", "FIFO left", "FIFO refused");

  private final ScenarioResult result;
  private final long duration;

  /** A table; the first columns are names. */
  record ReportTable(String title, int names, List<String> header, List<List<String>> rows) {}

  ScenarioTables(ScenarioResult result) {
    this.result = result;
    this.duration = result.scenario().durationNanos();
  }

  // ---- sentences

  /** Returns the summary. */
  List<String> glance() {
    List<String> sentences = new ArrayList<>();
    for (QueueMeter queue : result.queues()) {
      queue.tenants.stream()
          .filter(each -> gain(each) > ALIKE)
          .max((a, b) -> Double.compare(gain(a), gain(b)))
          .ifPresent(best -> sentences.add(compared(best, "one FIFO for " + queue.queue.name())));
    }
    result.classes().stream()
        .filter(each -> gain(each.flow()) > ALIKE)
        .forEach(each -> sentences.add(compared(each.flow(), "one FIFO for " + each.model())));
    for (LimitMeter throttle : result.throttles()) {
      sentences.add(held(throttle));
    }
    for (ModelUsageMeter model : result.models()) {
      GovernorStatus.Audit audit = model.audit();
      sentences.add(
          "%s: at most %s of %s tokens in any minute; %s of its rate was used"
              .formatted(
                  model.name,
                  FigureFormat.count(audit.worstTokens()),
                  FigureFormat.count(audit.limitTokens()),
                  FigureFormat.percent(model.used(duration))));
    }
    return sentences;
  }

  private String held(LimitMeter throttle) {
    GrantedTokenMeter worst = throttle.worst();
    return "%s: at most %s of %s tokens in any %s; %s of its rate was used"
        .formatted(
            throttle.throttle.key(),
            FigureFormat.count(worst.worst()),
            FigureFormat.decimal(worst.legal()),
            Durations.format(worst.windowNanos()),
            FigureFormat.percent(throttle.used(duration)));
  }

  private static double gain(TrafficMeter flow) {
    double fifo = flow.fifo.waitSeconds(99);
    double fair = flow.fair.waitSeconds(99);
    return Double.isNaN(fifo) || Double.isNaN(fair) ? 0 : fifo / Math.max(SHORTEST_WAIT, fair);
  }

  private static String compared(TrafficMeter flow, String fifo) {
    long refused = flow.fifo.refused() - flow.fair.refused();
    return "%s: 99 of 100 waited at most %s; with %s it would be %s, %s times as long"
            .formatted(
                flow.name,
                FigureFormat.seconds(flow.fair.waitSeconds(99)),
                fifo,
                FigureFormat.seconds(flow.fifo.waitSeconds(99)),
                gain(flow) > HARDLY_COUNTED
                    ? "more than 1,000"
                    : String.format(Locale.ROOT, gain(flow) < 10 ? "%.1f" : "%.0f", gain(flow)))
        + (refused > 0
            ? ", and %s of %s more would be refused"
                .formatted(FigureFormat.count(refused), FigureFormat.count(flow.count()))
            : "");
  }

  // ---- tables

  List<ScenarioTables.ReportTable> sheets() {
    List<ScenarioTables.ReportTable> sheets = new ArrayList<>();
    result.queues().forEach(each -> sheets.add(queue(each)));
    if (!result.throttles().isEmpty()) {
      sheets.add(throttles());
    }
    if (!result.models().isEmpty()) {
      sheets.add(models());
      sheets.add(classes());
      sheets.add(callers());
    }
    return sheets;
  }

  ScenarioTables.ReportTable queue(QueueMeter queue) {
    double[] due = queue.dueShares();
    double served = queue.served();
    List<List<String>> rows = new ArrayList<>();
    for (int i = 0; i < due.length; i++) {
      Scenario.Tenant tenant = queue.queue.tenants().get(i);
      TrafficMeter flow = queue.tenants.get(i);
      List<String> row = new ArrayList<>();
      row.add(tenant.count() == 1 ? tenant.name() : tenant.name() + " x" + tenant.count());
      row.add(Integer.toString(tenant.weight()));
      row.add(FigureFormat.count(flow.count()));
      row.add(FigureFormat.count(flow.fair.served()));
      row.add(FigureFormat.percent(served == 0 ? Double.NaN : flow.fair.served() / served));
      row.add(FigureFormat.percent(due[i]));
      row.addAll(passage(flow));
      rows.add(row);
    }
    List<String> header = header("tenant", "weight", "arrived", "served", "share", "due");
    return brief("Queue " + queue.queue.name() + ": " + workers(queue), 1, header, rows);
  }

  /** Without columns of exceptions that there were not. */
  private static ScenarioTables.ReportTable brief(
      String title, int names, List<String> header, List<List<String>> rows) {
    List<Integer> kept = new ArrayList<>();
    for (int i = 0; i < header.size(); i++) {
      int column = i;
      if (!EXCEPTIONS.contains(header.get(i))
          || rows.stream().anyMatch(row -> !row.get(column).equals("0"))) {
        kept.add(i);
      }
    }
    return new ScenarioTables.ReportTable(
        title,
        names,
        kept.stream().map(header::get).toList(),
        rows.stream().map(row -> kept.stream().map(row::get).toList()).toList());
  }

  private static String workers(QueueMeter queue) {
    int workers = queue.queue.workers();
    return workers == 0
        ? "unlimited workers, " + FigureFormat.decimal(queue.workers.mean()) + " on average"
        : workers
            + (workers == 1 ? " worker, " : " workers, ")
            + FigureFormat.percent(queue.workers.mean() / workers)
            + " busy";
  }

  private static List<String> header(String... own) {
    List<String> header = new ArrayList<>(List.of(own));
    header.addAll(
        List.of(
            "wait p50",
            "p99",
            "longest",
            "left",
            "refused",
            "FIFO p50",
            "FIFO p99",
            "FIFO left",
            "FIFO refused"));
    return header;
  }

  private static List<String> passage(TrafficMeter flow) {
    return List.of(
        FigureFormat.seconds(flow.fair.waitSeconds(50)),
        FigureFormat.seconds(flow.fair.waitSeconds(99)),
        FigureFormat.seconds(flow.fair.waitSeconds(100)),
        FigureFormat.count(flow.fair.left()),
        refused(flow.fair),
        FigureFormat.seconds(flow.fifo.waitSeconds(50)),
        FigureFormat.seconds(flow.fifo.waitSeconds(99)),
        FigureFormat.count(flow.fifo.left()),
        refused(flow.fifo));
  }

  private static String refused(TrafficResult passage) {
    Map<String, Long> refusals = passage.refusals();
    return refusals.isEmpty()
        ? "0"
        : refusals.entrySet().stream()
            .map(each -> FigureFormat.count(each.getValue()) + " " + each.getKey())
            .collect(Collectors.joining(", "));
  }

  ScenarioTables.ReportTable throttles() {
    List<List<String>> rows = new ArrayList<>();
    for (LimitMeter each : result.throttles()) {
      GrantedTokenMeter worst = each.worst();
      rows.add(
          List.of(
              each.throttle.key(),
              FigureFormat.decimal(each.throttle.rate()),
              FigureFormat.decimal(each.throttle.burst()),
              FigureFormat.count(each.keys()),
              FigureFormat.count(each.total()),
              FigureFormat.percent(each.used(duration)),
              "%s of %s in %s"
                  .formatted(
                      FigureFormat.count(worst.worst()),
                      FigureFormat.decimal(worst.legal()),
                      Durations.format(worst.windowNanos()))));
    }
    return new ScenarioTables.ReportTable(
        "Throttles",
        1,
        List.of("throttle", "rate/s", "burst", "keys", "taken", "used", "worst window"),
        rows);
  }

  ScenarioTables.ReportTable models() {
    List<List<String>> rows = new ArrayList<>();
    for (ModelUsageMeter each : result.models()) {
      rows.add(
          List.of(
              each.name,
              FigureFormat.count(each.budget.tokens().refillTokens()),
              FigureFormat.count(each.budget.tokens().capacity()),
              FigureFormat.count(Math.round(each.total())),
              FigureFormat.percent(each.used(duration)),
              "%s of %s"
                  .formatted(
                      FigureFormat.count(each.audit().worstTokens()),
                      FigureFormat.count(each.audit().limitTokens()))));
    }
    return new ScenarioTables.ReportTable(
        "Models",
        1,
        List.of("model", "target/min", "burst", "charged", "used", "worst minute"),
        rows);
  }

  ScenarioTables.ReportTable classes() {
    List<List<String>> rows = new ArrayList<>();
    for (ScenarioResult.ClassMeter each : result.classes()) {
      List<String> row =
          new ArrayList<>(
              List.of(
                  each.model(),
                  each.flow().name,
                  FigureFormat.count(each.flow().count()),
                  FigureFormat.count(each.flow().fair.served())));
      row.addAll(passage(each.flow()));
      rows.add(row);
    }
    return brief("Classes", 2, header("model", "class", "requested", "granted"), rows);
  }

  ScenarioTables.ReportTable callers() {
    List<List<String>> rows = new ArrayList<>();
    for (ScenarioResult.CallerMeter each : result.callers()) {
      Scenario.Caller caller = each.caller();
      List<String> row =
          new ArrayList<>(
              List.of(
                  caller.count() == 1 ? caller.name() : caller.name() + " x" + caller.count(),
                  caller.model(),
                  caller.priority(),
                  FigureFormat.count(each.flow().count()),
                  FigureFormat.count(each.flow().fair.served())));
      row.addAll(passage(each.flow()));
      rows.add(row);
    }
    return brief("Callers", 3, header("caller", "model", "class", "requested", "granted"), rows);
  }
}
