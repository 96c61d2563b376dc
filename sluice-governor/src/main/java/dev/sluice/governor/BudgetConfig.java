package dev.sluice.governor;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a {@code token-budget.json} says.
 *
 * @param models the budget of each model, by its name
 * @param rules how long things are kept, and how many
 * @param withoutEffect what it also says, and nothing here goes by, such as {@code
 *     models.x.max_ctx}
 * @since 0.1
 */
public record BudgetConfig(
    Map<String, ModelBudget> models, DeskRules rules, List<String> withoutEffect) {
  /** Checks that there is a model. */
  public BudgetConfig {
    if (models.isEmpty()) {
      throw new IllegalArgumentException("models must have at least one");
    }
    models = Collections.unmodifiableMap(new LinkedHashMap<>(models));
    withoutEffect = List.copyOf(withoutEffect);
  }
}
