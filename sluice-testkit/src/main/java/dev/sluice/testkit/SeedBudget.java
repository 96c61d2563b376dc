package dev.sluice.testkit;

import dev.sluice.governor.BudgetConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/** The budget file of the source document, which is kept among the examples. */
public final class SeedBudget {
  /** Its path, relative to the folder of a module. */
  public static final Path FILE = Path.of("..", "examples", "governor", "token-budget.json");

  /** The source document's classes, whose shares bind. */
  public static final Map<String, Double> CLASSES =
      Objects.requireNonNull(read().models().get("deepseek-r1")).classes();

  private SeedBudget() {}

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
