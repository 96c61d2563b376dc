package dev.sluice.server.operations;

import dev.sluice.server.auth.Credential;
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
  private final Map<Object, Account> accounts = new HashMap<>();

  private static final class Account {
    final Queue<Task<?>> waiting = new ArrayDeque<>();
    int running;
  }

  private record Task<T>(Supplier<CompletableFuture<T>> work, CompletableFuture<T> result) {
    CompletableFuture<T> begin() {
      CompletableFuture<T> running;
      try {
        running = work.get();
      } catch (Throwable e) {
        // Errors, too: the turn must come back.
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
   * Runs {@code work} now, or when enough earlier tasks of the account have ended.
   *
   * @param owner the account: the {@link Credential#owner} of a call
   * @return completes as the future of {@code work} does
   */
  public <T> CompletableFuture<T> run(Object owner, Supplier<CompletableFuture<T>> work) {
    Task<T> task = new Task<>(work, new CompletableFuture<>());
    if (mayBegin(owner, task)) {
      runFrom(owner, task);
    }
    return task.result();
  }

  private synchronized boolean mayBegin(Object owner, Task<?> task) {
    Account account = accounts.computeIfAbsent(owner, unused -> new Account());
    if (account.running < atOnce) {
      account.running++;
      return true;
    }
    account.waiting.add(task);
    return false;
  }

  /** Runs a task and its successors; in a loop, because tasks may end at once. */
  private void runFrom(Object owner, @Nullable Task<?> first) {
    for (Task<?> task = first; task != null; task = successor(owner)) {
      CompletableFuture<?> running = task.begin();
      if (!running.isDone()) {
        Futures.whenOver(running, () -> runFrom(owner, successor(owner)));
        return;
      }
    }
  }

  private synchronized @Nullable Task<?> successor(Object owner) {
    Account account = Objects.requireNonNull(accounts.get(owner));
    Task<?> next = account.waiting.poll();
    if (next == null && --account.running == 0) {
      accounts.remove(owner);
    }
    return next;
  }
}
