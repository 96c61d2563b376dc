package dev.sluice.server;

import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * On which threads the governor is asked. One that has its budgets in this process answers at once;
 * one that has them in Redis may take as long as the time-out, which must not hold up queues and
 * limits: it is asked on threads of its own.
 */
public final class GovernorThreads implements AutoCloseable {
  /** So many calls may wait for Redis at once. */
  private static final int THREADS = 32;

  /** So many may wait for a thread; one more is refused. */
  static final int MAX_WAITING = 10_000;

  private final @Nullable ExecutorService own;
  private final Executor background;
  private final AtomicInteger waiting = new AtomicInteger();

  private GovernorThreads(@Nullable ExecutorService own, Executor background) {
    this.own = own;
    this.background = background;
  }

  /** Asks on the thread of the caller, and on these what has no caller. */
  static GovernorThreads ofCallers(Executor workers) {
    return new GovernorThreads(null, workers);
  }

  static GovernorThreads ofItsOwn() {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    return new GovernorThreads(threads, threads);
  }

  /** What it says or throws; whoever has left before its turn has not asked. */
  public <T> CompletableFuture<T> ask(Supplier<T> question) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    if (own == null) {
      answer(question, answer);
    } else if (waiting.incrementAndGet() > MAX_WAITING) {
      waiting.decrementAndGet();
      answer.completeExceptionally(
          new ApiException(
              ErrorKind.UNAVAILABLE,
              "at most %d calls may wait for the governor".formatted(MAX_WAITING)));
    } else {
      own.execute(
          () -> {
            waiting.decrementAndGet();
            answer(question, answer);
          });
    }
    return answer;
  }

  private static <T> void answer(Supplier<T> question, CompletableFuture<T> answer) {
    if (answer.isDone()) {
      return;
    }
    try {
      answer.complete(question.get());
    } catch (RuntimeException refused) {
      answer.completeExceptionally(refused);
    }
  }

  /** Never on the thread of the caller. */
  public void execute(Runnable work) {
    background.execute(work);
  }

  @Override
  public void close() {
    if (own != null) {
      own.shutdownNow();
    }
  }
}
