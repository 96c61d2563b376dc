package dev.sluice.governor;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Waits for a store. */
final class Waits {
  private Waits() {}

  /** What it says, or throws what it fails with. */
  static <T> T get(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      if (failure.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw failure;
    }
  }
}
