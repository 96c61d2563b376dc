package dev.sluice.testkit.load;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.ModelBudget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/** The budget file of the source document, which is kept among the examples. */
public final class SeedBudget {
  /** Its path: in the folder that {@code -Dsluice.root} names, or from the folder of a module. */
  public static final Path FILE =
      Path.of(System.getProperty("sluice.root", ".."), "examples", "governor", "token-budget.json");

  /** The source document's classes, whose shares bind. */
  public static final Map<String, Double> CLASSES =
      Objects.requireNonNull(read().models().get("deepseek-r1")).priorityClasses();

  private SeedBudget() {}

  /**
   * Returns a builder of a budget with the source document's classes, whose shares do not bind.
   *
   * @param perMinute tokens that accrue in a minute
   * @param burst the most tokens there are at a time
   * @return a new builder
   */
  public static ModelBudget.Builder budget(long perMinute, long burst) {
    return ModelBudget.builder(Limit.perMinute(perMinute, burst))
        .allocation(Allocation.OFF)
        .priorityClass("P0_clinical", 1)
        .priorityClass("P1_user", 1)
        .priorityClass("P2_batch", 1);
  }

  /**
   * Reads the file.
   *
   * @return its four models
   */
  public static BudgetConfig read() {
    try {
      return BudgetConfig.read(FILE);
    } catch (IOException missing) {
      throw new UncheckedIOException(missing);
    }
  }
}
