package dev.sluice.governor;

import dev.sluice.Limit;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/**
 * The budget file of the source document, which is kept among the examples. {@code sluice-testkit}
 * has the same class for the modules above this one.
 */
final class SeedBudget {
  static final Path FILE = Path.of("..", "examples", "governor", "token-budget.json");

  /** The source document's classes, whose shares bind. */
  static final Map<String, Double> CLASSES =
      Objects.requireNonNull(read().models().get("deepseek-r1")).priorityClasses();

  private SeedBudget() {}

  /**
   * Returns a builder of a budget with the source document's classes, whose shares do not bind.
   *
   * @param perMinute tokens that accrue in a minute
   * @param burst the most tokens there are at a time
   * @return a new builder
   */
  static ModelBudget.Builder budget(long perMinute, long burst) {
    return ModelBudget.builder(Limit.perMinute(perMinute, burst))
        .allocation(Allocation.OFF)
        .priorityClass("P0_clinical", 1)
        .priorityClass("P1_user", 1)
        .priorityClass("P2_batch", 1);
  }

  static BudgetConfig read() {
    try {
      return BudgetConfig.read(FILE);
    } catch (IOException missing) {
      throw new UncheckedIOException(missing);
    }
  }
}
