package dev.sluice.redis.internal.limits;

import dev.sluice.redis.RedisUnavailableException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Futures of answers: waited for, and made at once. */
public final class Futures {
  private Futures() {}

  /** Its value; not interruptible, for no answer takes longer than the time-out. */
  public static <T> T await(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      if (failure.getCause() instanceof RedisUnavailableException unavailable) {
        // With the stack of who waits.
        throw new RedisUnavailableException(String.valueOf(unavailable.getMessage()), unavailable);
      }
      if (failure.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw failure;
    }
  }

  /** Its value; if interrupted before, it is cancelled. */
  public static <T> T awaitInterruptibly(CompletableFuture<T> answer) throws InterruptedException {
    try {
      answer.get();
    } catch (InterruptedException interrupted) {
      if (answer.cancel(true)) {
        throw interrupted;
      }
      Thread.currentThread().interrupt();
    } catch (ExecutionException failure) {
      // Thrown again by join.
    }
    return await(answer);
  }

  public static void done(CompletableFuture<Void> answer) {
    CompletableFuture<Boolean> ended = answer.thenApply(nothing -> true);
    await(ended);
  }

  static <T> CompletableFuture<T> now(T value) {
    return CompletableFuture.completedFuture(value);
  }

  static CompletableFuture<Void> after(Runnable work) {
    work.run();
    return CompletableFuture.allOf();
  }
}
