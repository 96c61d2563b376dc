package dev.sluice.server.operations;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
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
      return file == null ? BudgetConfig.EMPTY : BudgetConfig.read(file);
    } catch (IOException unreadable) {
      throw new IOException("governor.file cannot be read: " + file, unreadable);
    }
  }

  /** Returns whether {@code governor.file} is set. */
  public boolean hasFile() {
    return file != null;
  }

  /** The configuration in force. */
  public BudgetConfig current() {
    return current;
  }

  /**
   * Reads the file again and applies it; if it cannot be used, everything stays.
   *
   * @param use applies the configuration; a later one is applied after an earlier one
   */
  synchronized CompletableFuture<BudgetConfig> reload(
      Function<BudgetConfig, CompletableFuture<Void>> use) {
    if (file == null) {
      return CompletableFuture.failedFuture(
          new ApiException(
              ErrorKind.FAILED_PRECONDITION, "no budget file to reload: governor.file is not set"));
    }
    BudgetConfig next;
    try {
      next = read(file);
    } catch (IOException | UncheckedIOException | IllegalArgumentException unusable) {
      return CompletableFuture.failedFuture(refused(unusable));
    }
    return use.apply(next)
        .handle(
            (done, failure) -> {
              if (failure != null) {
                throw failed(failure);
              }
              current = next;
              return next;
            });
  }

  private static RuntimeException failed(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException wrapped && wrapped.getCause() != null
            ? wrapped.getCause()
            : failure;
    return cause instanceof UncheckedIOException
            || cause instanceof IllegalArgumentException
            || cause instanceof IllegalStateException
        ? refused(cause)
        : new CompletionException(cause);
  }

  private static ApiException refused(Throwable cause) {
    return new ApiException(ErrorKind.FAILED_PRECONDITION, String.valueOf(cause.getMessage()));
  }
}
