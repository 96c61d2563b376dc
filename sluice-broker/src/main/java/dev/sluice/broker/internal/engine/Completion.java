package dev.sluice.broker.internal.engine;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A future of a caller, and the value to complete it with. */
public record Completion<T>(CompletableFuture<T> future, @Nullable T value) {
  static Completion<Void> done(CompletableFuture<Void> future) {
    return new Completion<>(future, null);
  }

  public void complete() {
    future.complete(value);
  }
}
