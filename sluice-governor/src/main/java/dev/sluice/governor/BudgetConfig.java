package dev.sluice.governor;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a governor: budgets of models, routes, and settings of the waiting lists and
 * the alerts, as in {@code token-budget.json}. Immutable.
 *
 * @since 0.1
 */
public final class BudgetConfig {
  /** The configuration without models. */
  public static final BudgetConfig EMPTY = builder().build();

  private final Values values;

  private record Values(
      Map<String, ModelBudget> models,
      WaitingListConfig waitingList,
      AlertConfig alerts,
      Map<String, List<String>> routes,
      List<String> ignoredKeys) {
    Values {
      models.keySet().forEach(BudgetConfig::requireInPaths);
      models = Collections.unmodifiableMap(new LinkedHashMap<>(models));
      Map<String, List<String>> checked = new LinkedHashMap<>();
      for (Map.Entry<String, List<String>> route : routes.entrySet()) {
        requireRoute(route.getKey(), route.getValue(), models);
        checked.put(route.getKey(), List.copyOf(route.getValue()));
      }
      routes = Collections.unmodifiableMap(checked);
      ignoredKeys = List.copyOf(ignoredKeys);
    }
  }

  private BudgetConfig(Values values) {
    this.values = values;
  }

  /**
   * Reads a file.
   *
   * @param file in JSON
   * @return the configuration
   * @throws IOException if the file cannot be read
   * @throws IllegalArgumentException if the JSON or a value is invalid; the message has the path of
   *     the key
   */
  public static BudgetConfig read(Path file) throws IOException {
    return BudgetConfigReader.read(file);
  }

  /**
   * Parses the text of a file.
   *
   * @param json the text
   * @return the configuration
   * @throws IllegalArgumentException if the JSON or a value is invalid; the message has the path of
   *     the key
   */
  public static BudgetConfig parse(String json) {
    return BudgetConfigReader.parse(json);
  }

  /**
   * Returns a builder without models and routes, with the default settings.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns the budget of each model.
   *
   * @return by the model's name, in the order of the configuration
   */
  public Map<String, ModelBudget> models() {
    return values.models();
  }

  /**
   * Returns the settings of the waiting lists and the reservations.
   *
   * @return for all models
   */
  public WaitingListConfig waitingList() {
    return values.waitingList();
  }

  /**
   * Returns the thresholds of the alerts.
   *
   * @return for all models
   */
  public AlertConfig alerts() {
    return values.alerts();
  }

  /**
   * Returns the equivalent models of each route.
   *
   * @return by the route's name
   */
  public Map<String, List<String>> routes() {
    return values.routes();
  }

  /**
   * Returns the keys of the file that are known and have no effect.
   *
   * @return paths such as {@code models.x.provider}
   */
  public List<String> ignoredKeys() {
    return values.ignoredKeys();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof BudgetConfig that && values.equals(that.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return "BudgetConfig" + values;
  }

  /** Builds a {@link BudgetConfig}. Not thread-safe. */
  public static final class Builder {
    private final Map<String, ModelBudget> models = new LinkedHashMap<>();
    private final Map<String, List<String>> routes = new LinkedHashMap<>();
    private WaitingListConfig waitingList = WaitingListConfig.builder().build();
    private AlertConfig alerts = AlertConfig.builder().build();
    private List<String> ignoredKeys = List.of();

    private Builder() {}

    /**
     * Adds a model.
     *
     * @param name its name
     * @param budget its budget
     * @return this
     */
    public Builder model(String name, ModelBudget budget) {
      models.put(name, budget);
      return this;
    }

    /**
     * Adds models.
     *
     * @param budgets by name, in this order
     * @return this
     */
    public Builder models(Map<String, ModelBudget> budgets) {
      models.putAll(budgets);
      return this;
    }

    /**
     * Sets the settings of the waiting lists and the reservations.
     *
     * @param settings for all models
     * @return this
     */
    public Builder waitingList(WaitingListConfig settings) {
      waitingList = settings;
      return this;
    }

    /**
     * Sets the thresholds of the alerts.
     *
     * @param thresholds for all models
     * @return this
     */
    public Builder alerts(AlertConfig thresholds) {
      alerts = thresholds;
      return this;
    }

    /**
     * Adds a route: a name for equivalent models.
     *
     * @param name not that of a model
     * @param equivalents models with the same priority classes
     * @return this
     */
    public Builder route(String name, List<String> equivalents) {
      routes.put(name, equivalents);
      return this;
    }

    /**
     * Adds routes.
     *
     * @param equivalents models with the same priority classes, by route
     * @return this
     */
    public Builder routes(Map<String, List<String>> equivalents) {
      routes.putAll(equivalents);
      return this;
    }

    Builder ignoredKeys(List<String> paths) {
      ignoredKeys = paths;
      return this;
    }

    /**
     * Builds the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException if the name of a model or a route is invalid
     */
    public BudgetConfig build() {
      return new BudgetConfig(new Values(models, waitingList, alerts, routes, ignoredKeys));
    }
  }

  /** Models have paths at a server, from which browsers and proxies remove dots. */
  private static void requireInPaths(String model) {
    if (model.equals(".") || model.equals("..")) {
      throw new IllegalArgumentException(
          "the name of a model must not be . or .., which vanish from paths of URLs, but was \"%s\""
              .formatted(model));
    }
  }

  private static void requireRoute(
      String name, List<String> route, Map<String, ModelBudget> models) {
    if (models.containsKey(name)) {
      throw new IllegalArgumentException("routes.%s must not be a model's name".formatted(name));
    }
    if (route.isEmpty()) {
      throw new IllegalArgumentException("routes.%s must have at least one model".formatted(name));
    }
    Set<String> seen = new HashSet<>();
    Set<String> classes = null;
    for (String model : route) {
      ModelBudget budget = models.get(model);
      if (budget == null) {
        throw new IllegalArgumentException(
            "routes.%s must be of the models %s, but was %s"
                .formatted(name, models.keySet(), model));
      }
      if (!seen.add(model)) {
        throw new IllegalArgumentException(
            "routes.%s must name each model once, but repeats %s".formatted(name, model));
      }
      classes = classes == null ? budget.priorityClasses().keySet() : classes;
      if (!budget.priorityClasses().keySet().equals(classes)) {
        throw new IllegalArgumentException(
            "routes.%s must be of models with the same classes, here %s: %s has %s"
                .formatted(name, classes, model, budget.priorityClasses().keySet()));
      }
    }
  }
}
