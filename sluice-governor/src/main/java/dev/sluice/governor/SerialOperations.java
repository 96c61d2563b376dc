package dev.sluice.governor;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs asynchronous operations one at a time, in the order of the calls. Thread-safe; no thread
 * waits.
 */
final class SerialOperations {
  // Guarded by this.
  private final Queue<Supplier<CompletableFuture<?>>> waiting = new ArrayDeque<>();
  private boolean running;

  /** Starts {@code operation} when all earlier ones have completed, and returns its result. */
  <T> CompletableFuture<T> run(Supplier<CompletableFuture<T>> operation) {
    CompletableFuture<T> result = new CompletableFuture<>();
    add(() -> start(operation, result));
    proceed();
    return result;
  }

  private synchronized void add(Supplier<CompletableFuture<?>> operation) {
    waiting.add(operation);
  }

  private static <T> CompletableFuture<T> start(
      Supplier<CompletableFuture<T>> operation, CompletableFuture<T> result) {
    return Futures.start(operation)
        .whenComplete(
            (value, failure) -> {
              if (failure == null) {
                result.complete(value);
              } else {
                result.completeExceptionally(Futures.cause(failure));
              }
            });
  }

  /** Loops while operations complete at once, so that the stack does not grow with their number. */
  private void proceed() {
    for (Supplier<CompletableFuture<?>> next = begin(); next != null; next = begin()) {
      CompletableFuture<?> operation = next.get();
      if (!operation.isDone()) {
        var unused =
            operation.whenComplete(
                (value, failure) -> {
                  end();
                  proceed();
                });
        return;
      }
      end();
    }
  }

  private synchronized @Nullable Supplier<CompletableFuture<?>> begin() {
    if (running) {
      return null;
    }
    Supplier<CompletableFuture<?>> next = waiting.poll();
    running = next != null;
    return next;
  }

  private synchronized void end() {
    running = false;
  }
}
