package dev.sluice.broker;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What a caller is told, and how. */
record Answer<T>(CompletableFuture<T> future, @Nullable T value) {
  static Answer<Void> done(CompletableFuture<Void> future) {
    return new Answer<>(future, null);
  }

  void give() {
    future.complete(value);
  }
}
