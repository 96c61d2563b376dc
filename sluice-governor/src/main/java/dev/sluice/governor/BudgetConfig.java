package dev.sluice.governor;

import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a {@code token-budget.json} says.
 *
 * @param models the budget of each model, by its name
 * @param rules how long things are kept, and how many
 * @param health when somebody should look at a model
 * @param routes models that are declared equivalent, by the name under which they are asked for
 * @param withoutEffect what it also says, and nothing here goes by, such as {@code
 *     models.x.provider}
 * @since 0.1
 */
public record BudgetConfig(
    Map<String, ModelBudget> models,
    WaitingListConfig rules,
    AlertConfig health,
    Map<String, List<String>> routes,
    List<String> withoutEffect) {
  /** No model has a budget. */
  public static final BudgetConfig NONE = of(Map.of());

  /** Checks names of models, and that routes lead to models of the same classes. */
  public BudgetConfig {
    models.keySet().forEach(BudgetConfig::requireInPaths);
    models = Collections.unmodifiableMap(new LinkedHashMap<>(models));
    Map<String, List<String>> checked = new LinkedHashMap<>();
    for (Map.Entry<String, List<String>> route : routes.entrySet()) {
      requireRoute(route.getKey(), route.getValue(), models);
      checked.put(route.getKey(), List.copyOf(route.getValue()));
    }
    routes = Collections.unmodifiableMap(checked);
    withoutEffect = List.copyOf(withoutEffect);
  }

  /**
   * Models by the usual rules, and no routes.
   *
   * @param models the budget of each model, by its name
   * @return the configuration
   */
  public static BudgetConfig of(Map<String, ModelBudget> models) {
    return new BudgetConfig(
        models, WaitingListConfig.DEFAULTS, AlertConfig.DEFAULTS, Map.of(), List.of());
  }

  /** A model has paths at a server, from which browsers and proxies take dots. */
  private static void requireInPaths(String model) {
    if (model.equals(".") || model.equals("..")) {
      throw new IllegalArgumentException(
          "the name of a model must not be . or .., which vanish from paths of URLs: \"%s\""
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
            "routes.%s must be of the models %s: %s".formatted(name, models.keySet(), model));
      }
      if (!seen.add(model)) {
        throw new IllegalArgumentException(
            "routes.%s must name each model once: %s".formatted(name, model));
      }
      classes = classes == null ? budget.classes().keySet() : classes;
      if (!budget.classes().keySet().equals(classes)) {
        throw new IllegalArgumentException(
            "routes.%s must be of models with the same classes, here %s: %s has %s"
                .formatted(name, classes, model, budget.classes().keySet()));
      }
    }
  }
}
