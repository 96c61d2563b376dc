package dev.sluice.server.operations;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetConfigReader;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reads the budgets of the governor from a file; without one no model has a budget. */
public final class BudgetFileSource {
  private final @Nullable Path file;
  private volatile BudgetConfig current;

  private BudgetFileSource(@Nullable Path file, BudgetConfig current) {
    this.file = file;
    this.current = current;
  }

  /**
   * Reads it.
   *
   * @throws IOException if it cannot be read
   * @throws IllegalArgumentException if it breaks a rule
   */
  public static BudgetFileSource open(@Nullable Path file) throws IOException {
    return new BudgetFileSource(file, read(file));
  }

  private static BudgetConfig read(@Nullable Path file) throws IOException {
    try {
      return file == null ? BudgetConfig.NONE : BudgetConfigReader.read(file);
    } catch (IOException unreadable) {
      throw new IOException("governor.file cannot be read: " + file, unreadable);
    }
  }

  /** Returns whether {@code governor.file} is set. */
  public boolean hasFile() {
    return file != null;
  }

  /** What is gone by. */
  public BudgetConfig current() {
    return current;
  }

  /** Reads it anew; if it cannot be used, says so, and everything stays. */
  synchronized BudgetConfig reload(Consumer<BudgetConfig> use) {
    if (file == null) {
      throw new ApiException(
          ErrorKind.FAILED_PRECONDITION,
          "there is no budget file to reload: governor.file is not set");
    }
    try {
      BudgetConfig next = read(file);
      use.accept(next);
      current = next;
      return next;
    } catch (IOException
        | UncheckedIOException
        | IllegalArgumentException
        | IllegalStateException refused) {
      throw new ApiException(ErrorKind.FAILED_PRECONDITION, String.valueOf(refused.getMessage()));
    }
  }
}
