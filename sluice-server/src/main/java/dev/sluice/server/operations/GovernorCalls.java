package dev.sluice.server.operations;

import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.Futures;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * Calls the governor: bounds the calls that wait for Redis, and maps failures. Thread-safe.
 *
 * <p>Futures may complete on a thread of the connection to Redis: dependents must not block.
 */
public final class GovernorCalls {
  /** The most calls that may wait for the store of the governor; further ones are refused. */
  static final int MAX_PENDING = 10_000;

  /** How many of them may be of one account. */
  static final int MAX_PENDING_OF_ACCOUNT = MAX_PENDING / 4;

  private final ConcurrencyQuota pending =
      new ConcurrencyQuota("calls of the governor", MAX_PENDING, MAX_PENDING_OF_ACCOUNT);
  private final Executor workers;

  /**
   * Creates calls that none wait for yet.
   *
   * @param workers run what takes long or may call other waiters
   */
  public GovernorCalls(Executor workers) {
    this.workers = workers;
  }

  /** Returns the result of {@code call}, or an {@link ApiException}. */
  <T> CompletableFuture<T> call(Caller caller, Supplier<CompletableFuture<T>> call) {
    ConcurrencyQuota.Hold place;
    try {
      place = pending.take(caller);
    } catch (ApiException full) {
      return CompletableFuture.failedFuture(full);
    }
    CompletableFuture<T> answer = start(call);
    Futures.whenOver(answer, place::close);
    return answer.handle(GovernorCalls::result);
  }

  /** As {@link #call}, for a result that takes long to encode: a worker continues with it. */
  <T> CompletableFuture<T> callForMuch(Caller caller, Supplier<CompletableFuture<T>> call) {
    CompletableFuture<T> answer = call(caller, call);
    return answer.isDone() ? answer : answer.thenApplyAsync(same -> same, workers);
  }

  private static <T> CompletableFuture<T> start(Supplier<CompletableFuture<T>> call) {
    try {
      return call.get();
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  /** A closed model may be open again later, and Redis may be back: both are UNAVAILABLE. */
  private static <T> T result(T value, Throwable failure) {
    if (failure == null) {
      return value;
    }
    Throwable cause =
        failure instanceof CompletionException wrapped && wrapped.getCause() != null
            ? wrapped.getCause()
            : failure;
    if (cause instanceof StoreClosedException || cause instanceof RedisUnavailableException) {
      throw new ApiException(ErrorKind.UNAVAILABLE, String.valueOf(cause.getMessage()));
    }
    throw failure instanceof CompletionException wrapped ? wrapped : new CompletionException(cause);
  }

  /** Runs {@code work} on a thread that holds no lock. */
  void execute(Runnable work) {
    workers.execute(work);
  }
}
