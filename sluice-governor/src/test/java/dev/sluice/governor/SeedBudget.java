package dev.sluice.governor;

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
      Objects.requireNonNull(read().models().get("deepseek-r1")).classes();

  private SeedBudget() {}

  static BudgetConfig read() {
    try {
      return BudgetConfig.read(FILE);
    } catch (IOException missing) {
      throw new UncheckedIOException(missing);
    }
  }
}
