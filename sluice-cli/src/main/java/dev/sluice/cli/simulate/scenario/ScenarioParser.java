package dev.sluice.cli.simulate.scenario;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.Placement;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.Numbers;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Makes a scenario of the tables of a file, and checks that they fit together. */
final class ScenarioParser {
  private static final int USUAL_STEPS = 120;
  private static final int MAX_STEPS = 1_000;
  private static final int MAX_COUNT = 100_000;
  private static final int MAX_WORKERS = 1_000_000;
  private static final long SECOND = Durations.SECOND;
  private static final long MAX_DURATION = 366L * 86_400 * SECOND;
  private static final String TENANT = "{tenant}";

  private final TomlTable root;
  private final Path folder;
  private final long duration;
  private final long start;

  ScenarioParser(TomlTable root, Path folder) {
    this.root = root.only(ScenarioKeys.SCENARIO);
    this.folder = folder;
    this.duration = root.positiveNanos("duration");
    if (duration < SECOND || duration > MAX_DURATION) {
      throw root.wrong("duration", "from \"1s\" to \"366d\"");
    }
    this.start = root.timeOfDay("start", "00:00");
  }

  Scenario scenario() {
    List<Scenario.ScenarioLimit> throttles =
        root.tables("throttles").stream().map(this::throttle).toList();
    List<Scenario.ScenarioQueue> queues = root.tables("queues").stream().map(this::queue).toList();
    BudgetConfig budget = budget();
    List<Scenario.Caller> callers =
        root.tables("callers").stream().map(each -> caller(each, budget)).toList();
    if (queues.isEmpty() && callers.isEmpty()) {
      throw root.about("queues", "or callers is required: the scenario has no load");
    }
    if (budget != null && callers.isEmpty()) {
      throw root.about("callers", "is required with models");
    }
    Scenario scenario =
        new Scenario(
            root.text("title", "Scenario"),
            duration,
            root.whole("seed", Long.MIN_VALUE, Long.MAX_VALUE, 1),
            start,
            root.small("steps", 10, MAX_STEPS, USUAL_STEPS),
            throttles,
            queues,
            budget,
            callers);
    requireThrottles(scenario);
    return scenario;
  }

  private Scenario.ScenarioLimit throttle(TomlTable table) {
    table.only(ScenarioKeys.THROTTLE);
    double rate = table.rate("rate", 0);
    double burst = table.has("burst") ? table.number("burst", 1, 1e12) : Math.max(1, rate);
    return new Scenario.ScenarioLimit(table.name(), rate, burst);
  }

  private Scenario.ScenarioQueue queue(TomlTable table) {
    table.only(ScenarioKeys.QUEUE);
    Distribution service = service(table, Distribution.fixed(0));
    List<Scenario.Tenant> tenants =
        table.tables("tenants").stream().map(each -> tenant(each, service)).toList();
    if (tenants.isEmpty()) {
      throw table.about("tenants", "must have at least one");
    }
    return new Scenario.ScenarioQueue(
        table.name(),
        table.small("workers", 0, MAX_WORKERS, 0),
        table.flag("strict_order"),
        table.small("max_in_flight_per_key", 0, MAX_WORKERS, 0),
        table.whole("max_depth", 0, Long.MAX_VALUE, 0),
        tenants);
  }

  private static Distribution service(TomlTable table, Distribution usual) {
    return table.has("service")
        ? Distribution.read(table, "service", Distribution.Kind.TIME)
        : usual;
  }

  private Scenario.Tenant tenant(TomlTable table, Distribution service) {
    table.only(ScenarioKeys.TENANT);
    return new Scenario.Tenant(
        table.path(),
        table.name(),
        table.small("weight", 1, Placement.MAX_WEIGHT, 1),
        table.small("count", 1, MAX_COUNT, 1),
        table.small("priority", 0, Placement.MAX_PRIORITY, 0),
        costs(table),
        service(table, service),
        ArrivalProcess.read(table, duration, start, folder));
  }

  /** {@code KEY} or {@code KEY=TOKENS}, as on the command line. */
  private static SortedMap<String, Long> costs(TomlTable table) {
    SortedMap<String, Long> costs = new TreeMap<>();
    for (String text : table.texts("throttles")) {
      int equals = text.lastIndexOf('=');
      String key = equals < 0 ? text : text.substring(0, equals);
      long tokens =
          equals < 0
              ? 1
              : table.at("throttles", () -> Numbers.parse("TOKENS", text.substring(equals + 1)));
      if (key.isEmpty() || tokens == 0) {
        throw table.wrong("throttles", "keys, or KEY=TOKENS with at least one token");
      }
      costs.put(key, tokens);
    }
    return costs;
  }

  private @Nullable BudgetConfig budget() {
    if (root.has("budget_file")) {
      for (String other : List.of("models", "governor", "routes")) {
        if (root.has(other)) {
          throw root.about(other, "and budget_file cannot be combined");
        }
      }
      Path file = folder.resolve(root.text("budget_file"));
      return root.at("budget_file", () -> BudgetConfig.parse(ScenarioFile.text(file)));
    }
    if (!root.has("models")) {
      if (root.has("governor") || root.has("routes")) {
        throw root.about("models", "is required with governor or routes");
      }
      return null;
    }
    ObjectNode budget = JsonNodeFactory.instance.objectNode();
    for (String key : List.of("models", "governor", "routes")) {
      if (root.has(key)) {
        budget.set(key, root.raw(key));
      }
    }
    try {
      return BudgetConfig.parse(budget.toString());
    } catch (IllegalArgumentException wrong) {
      throw root.unplaced(wrong);
    }
  }

  private Scenario.Caller caller(TomlTable table, @Nullable BudgetConfig budget) {
    table.only(ScenarioKeys.CALLER);
    String model = table.text("model");
    ModelBudget own = model(table, model, budget);
    String priority = table.text("priority", own.leastUrgentClass());
    if (!own.priorityClasses().containsKey(priority)) {
      throw table.about(
          "priority",
          "must be one of %s, but was %s".formatted(own.priorityClasses().keySet(), priority));
    }
    int count = table.small("count", 1, MAX_COUNT, 1);
    return new Scenario.Caller(
        table.path(),
        table.name(),
        model,
        priority,
        table.text("tenant", count == 1 ? TokenRequest.NO_TENANT : table.name()),
        count,
        Distribution.read(table, "tokens", Distribution.Kind.TOKENS),
        table.has("used")
            ? Distribution.read(table, "used", Distribution.Kind.FRACTION)
            : Distribution.fixed(1),
        table.has("call_time")
            ? Distribution.read(table, "call_time", Distribution.Kind.TIME)
            : Distribution.fixed((double) SECOND),
        deadline(table),
        ArrivalProcess.read(table, duration, start, folder));
  }

  private static @Nullable Duration deadline(TomlTable table) {
    if (!table.has("deadline")) {
      return null;
    }
    Duration deadline = Duration.ofNanos(table.nanos("deadline"));
    TokenRequest any = TokenRequest.of("any", 1);
    // The governor knows how long one may be.
    return table.at("deadline", () -> any.withMaxWait(deadline)).maxWait();
  }

  private static ModelBudget model(TomlTable table, String model, @Nullable BudgetConfig budget) {
    if (budget == null) {
      throw table.about("model", "must be one of models, and there are none: " + model);
    }
    List<String> route = budget.routes().get(model);
    ModelBudget own = budget.models().get(route == null ? model : route.get(0));
    if (own == null) {
      Set<String> known = new TreeSet<>(budget.models().keySet());
      known.addAll(budget.routes().keySet());
      throw table.about("model", "must be one of %s, but was %s".formatted(known, model));
    }
    return own;
  }

  /** Checks that every named limit exists and can grant, and that every limit is used. */
  private void requireThrottles(Scenario scenario) {
    Set<Scenario.ScenarioLimit> used = new HashSet<>();
    for (Scenario.ScenarioQueue queue : scenario.queues()) {
      TomlTable tables = root.table("queues").table(queue.name()).table("tenants");
      for (Scenario.Tenant tenant : queue.tenants()) {
        TomlTable table = tables.table(tenant.name());
        for (int number = 1; number <= tenant.count(); number++) {
          String member = tenant.member(number);
          tenant
              .throttles()
              .forEach(
                  (key, tokens) ->
                      used.add(requireThrottle(scenario, table, expand(key, member), tokens)));
        }
      }
    }
    List<String> idle = new ArrayList<>();
    scenario.throttles().stream()
        .filter(each -> !used.contains(each))
        .forEach(each -> idle.add(each.key()));
    if (!idle.isEmpty()) {
      throw root.about("throttles", "has limits that no tenant names: " + idle);
    }
  }

  /** A throttle key of one tenant. */
  static String expand(String key, String tenant) {
    return key.replace(TENANT, tenant);
  }

  private static Scenario.ScenarioLimit requireThrottle(
      Scenario scenario, TomlTable table, String key, long tokens) {
    Scenario.ScenarioLimit throttle = scenario.throttle(key);
    if (throttle == null) {
      List<String> keys = scenario.throttles().stream().map(Scenario.ScenarioLimit::key).toList();
      throw table.about(
          "throttles",
          "must have a limit under throttles, %s: %s"
              .formatted(keys.isEmpty() ? "which is empty" : "which has " + keys, key));
    }
    if (tokens > throttle.burst()) {
      throw table.about(
          "throttles",
          "must take at most the burst of %s at a time, which is %s: %s=%d"
              .formatted(throttle.key(), Numbers.format(throttle.burst()), key, tokens));
    }
    return throttle;
  }
}
