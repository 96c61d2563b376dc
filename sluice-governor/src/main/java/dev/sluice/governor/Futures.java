package dev.sluice.governor;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/** Helpers for futures of a store. */
final class Futures {
  private Futures() {}

  /** Calls {@code operation}; an exception that it throws becomes a failed future. */
  static <T> CompletableFuture<T> start(Supplier<CompletableFuture<T>> operation) {
    try {
      return operation.get();
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  /** Returns the exception that a future failed with, without the wrappers of dependent futures. */
  static Throwable cause(Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /** Wraps an exception so that a stage of a future may throw it. */
  static CompletionException rethrown(Throwable failure) {
    return failure instanceof CompletionException wrapped
        ? wrapped
        : new CompletionException(failure);
  }

  /** Blocks until {@code future} is done; returns its value or throws what it failed with. */
  static <T> T join(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException failure) {
      throw unchecked(failure);
    }
  }

  /** Waits like {@link #join}, but can be interrupted. */
  static <T> T get(CompletableFuture<T> future) throws InterruptedException {
    try {
      return future.get();
    } catch (ExecutionException failure) {
      throw unchecked(failure);
    }
  }

  private static RuntimeException unchecked(Exception failure) {
    Throwable cause = cause(failure);
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException unchecked ? unchecked : new CompletionException(cause);
  }
}
