package dev.sluice.broker.engine;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What a caller is told, and how. */
public record Completion<T>(CompletableFuture<T> future, @Nullable T value) {
  static Completion<Void> done(CompletableFuture<Void> future) {
    return new Completion<>(future, null);
  }

  public void give() {
    future.complete(value);
  }
}
