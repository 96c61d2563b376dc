package dev.sluice.server.operations;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.support.Futures;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Lets one redrive of an account run at a time: each goes through messages of the whole broker. The
 * others wait in order, and count as calls that wait. Thread-safe.
 */
public final class RedriveTurns {
  private final AccountTurns turns = new AccountTurns(1);
  private final ConcurrencyQuota openCalls;

  public RedriveTurns(ConcurrencyQuota openCalls) {
    this.openCalls = openCalls;
  }

  /**
   * Runs {@code redrive} now, or when the earlier ones of the caller's account have ended.
   *
   * @return completes as the future of {@code redrive} does; ending it earlier cancels that future,
   *     or a redrive that waits for its turn
   */
  public CompletableFuture<Long> run(Caller caller, Supplier<CompletableFuture<Long>> redrive) {
    ConcurrencyQuota.Hold place = openCalls.take(caller);
    CompletableFuture<Long> answer = new CompletableFuture<>();
    Futures.whenOver(answer, place::close);
    Futures.when(
        turns.run(caller, () -> begin(redrive, answer)),
        answer::complete,
        answer::completeExceptionally);
    return answer;
  }

  private static CompletableFuture<Long> begin(
      Supplier<CompletableFuture<Long>> redrive, CompletableFuture<Long> answer) {
    if (answer.isDone()) {
      return CompletableFuture.failedFuture(new CancellationException("the call has ended"));
    }
    CompletableFuture<Long> running = redrive.get();
    Futures.whenOver(answer, () -> running.cancel(false));
    return running;
  }
}
