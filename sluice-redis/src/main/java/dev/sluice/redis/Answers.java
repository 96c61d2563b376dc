package dev.sluice.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/** Futures of answers: waited for, and made at once. */
final class Answers {
  private Answers() {}

  /** Its value; not interruptible, for no answer takes longer than the time-out. */
  static <T> T await(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      if (failure.getCause() instanceof LimitsUnavailableException unavailable) {
        // With the stack of who waits.
        throw new LimitsUnavailableException(String.valueOf(unavailable.getMessage()), unavailable);
      }
      if (failure.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw failure;
    }
  }

  static void done(CompletableFuture<Void> answer) {
    CompletableFuture<Boolean> ended = answer.thenApply(nothing -> true);
    await(ended);
  }

  static <T> CompletableFuture<T> now(T value) {
    return CompletableFuture.completedFuture(value);
  }

  /** What {@code work} returns, or fails with. */
  static <T> CompletableFuture<T> of(Supplier<T> work) {
    try {
      return now(work.get());
    } catch (LimitsUnavailableException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  static CompletableFuture<Void> after(Runnable work) {
    work.run();
    return CompletableFuture.allOf();
  }
}
