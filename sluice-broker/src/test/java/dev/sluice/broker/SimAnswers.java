package dev.sluice.broker;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;

/** Answers that the clients of a {@link Simulation} wait for, and what is wrong with them. */
final class SimAnswers {
  private final List<CompletableFuture<Void>> checks = new ArrayList<>();

  /** Does something with an answer, and keeps what is wrong with it for {@link #check}. */
  <T> void then(CompletableFuture<T> answer, Consumer<T> action) {
    checks.add(answer.thenAccept(action));
  }

  /** Forgets all pending answers, because the broker has been killed. */
  void forget() {
    checks.clear();
  }

  void check() {
    for (CompletableFuture<Void> check : checks) {
      if (check.isCompletedExceptionally()) {
        try {
          check.join();
        } catch (CompletionException failed) {
          // Refusals are answers, too.
          if (!(failed.getCause() instanceof BrokerException)) {
            throw new AssertionError(failed.getCause());
          }
        }
      }
    }
    checks.removeIf(CompletableFuture::isDone);
  }
}
