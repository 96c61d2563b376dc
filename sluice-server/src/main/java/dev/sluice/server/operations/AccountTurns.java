package dev.sluice.server.operations;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.support.Futures;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets at most a fixed number of asynchronous tasks of one account run at a time; its other tasks
 * wait in order. An account that sends many large calls then delays itself, not the callers that
 * share the broker's threads with it. Thread-safe. Does not bound how many tasks wait: the memory
 * that each call reserves does.
 */
public final class AccountTurns {
  private final int atOnce;

  // Guarded by this. An account without running tasks has no entry.
  private final Map<String, Account> accounts = new HashMap<>();

  private static final class Account {
    final Queue<Task<?>> waiting = new ArrayDeque<>();
    int running;
  }

  private record Task<T>(Supplier<CompletableFuture<T>> work, CompletableFuture<T> result) {
    CompletableFuture<T> begin() {
      CompletableFuture<T> running;
      try {
        running = work.get();
      } catch (RuntimeException e) {
        running = CompletableFuture.failedFuture(e);
      }
      Futures.when(running, result::complete, result::completeExceptionally);
      return running;
    }
  }

  public AccountTurns(int atOnce) {
    this.atOnce = atOnce;
  }

  /**
   * Runs {@code work} now, or when enough earlier tasks of the caller's account have ended.
   *
   * @return completes as the future of {@code work} does
   */
  public <T> CompletableFuture<T> run(Caller caller, Supplier<CompletableFuture<T>> work) {
    Task<T> task = new Task<>(work, new CompletableFuture<>());
    if (mayBegin(caller.account(), task)) {
      runFrom(caller.account(), task);
    }
    return task.result();
  }

  private synchronized boolean mayBegin(String name, Task<?> task) {
    Account account = accounts.computeIfAbsent(name, unused -> new Account());
    if (account.running < atOnce) {
      account.running++;
      return true;
    }
    account.waiting.add(task);
    return false;
  }

  /** Runs a task and its successors; in a loop, because tasks may end at once. */
  private void runFrom(String name, @Nullable Task<?> first) {
    for (Task<?> task = first; task != null; task = successor(name)) {
      CompletableFuture<?> running = task.begin();
      if (!running.isDone()) {
        Futures.whenOver(running, () -> runFrom(name, successor(name)));
        return;
      }
    }
  }

  private synchronized @Nullable Task<?> successor(String name) {
    Account account = Objects.requireNonNull(accounts.get(name));
    Task<?> next = account.waiting.poll();
    if (next == null && --account.running == 0) {
      accounts.remove(name);
    }
    return next;
  }
}
