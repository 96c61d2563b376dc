package dev.sluice.cli.simulate.scenario;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Every key of a scenario file; docs/simulate.md has the same. */
public final class ScenarioKeys {
  public static final List<String> SCENARIO =
      List.of(
          "title",
          "duration",
          "seed",
          "start",
          "steps",
          "throttles",
          "queues",
          "models",
          "governor",
          "routes",
          "budget_file",
          "callers");
  public static final List<String> THROTTLE = List.of("rate", "burst");
  public static final List<String> QUEUE =
      List.of(
          "workers", "service", "strict_order", "max_in_flight_per_key", "max_depth", "tenants");
  public static final List<String> TENANT =
      List.of("weight", "count", "priority", "throttles", "service", "arrivals");
  public static final List<String> CALLER =
      List.of(
          "model",
          "priority",
          "tenant",
          "count",
          "tokens",
          "used",
          "call_time",
          "deadline",
          "arrivals");

  /** The keys of all arrival patterns. */
  static final List<String> ARRIVALS = List.of("pattern", "from", "until");

  public static final Map<String, List<String>> PATTERNS = patterns();
  public static final Map<String, List<String>> DISTRIBUTIONS = distributions();

  private ScenarioKeys() {}

  private static Map<String, List<String>> patterns() {
    Map<String, List<String>> keys = new LinkedHashMap<>();
    keys.put("steady", List.of("rate"));
    keys.put("poisson", List.of("rate"));
    keys.put("bursts", List.of("size", "every"));
    keys.put("on_off", List.of("rate", "on", "off"));
    keys.put("ramp", List.of("rate", "to"));
    keys.put("daily", List.of("low", "high", "peak"));
    keys.put("trace", List.of("at", "file"));
    return keys;
  }

  private static Map<String, List<String>> distributions() {
    Map<String, List<String>> keys = new LinkedHashMap<>();
    keys.put("exponential", List.of("mean", "max"));
    keys.put("lognormal", List.of("median", "p99", "max"));
    keys.put("uniform", List.of("min", "max"));
    return keys;
  }
}
