package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.Completion;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Passes calls to the thread of the engine, and their results back.
 *
 * <p>Thread-safe. Every call completes: when the broker ends, open calls fail and later ones fail
 * at once.
 */
public final class EngineCalls {
  private final Inbox inbox;
  private final PendingCalls pending;
  private final CallbackExecutor callbacks;

  EngineCalls(Inbox inbox, PendingCalls pending, CallbackExecutor callbacks) {
    this.inbox = inbox;
    this.pending = pending;
    this.callbacks = callbacks;
  }

  /** Runs {@code input} on the thread of the engine, without a result; drops it after the end. */
  public void submit(Consumer<BrokerEngine> input) {
    inbox.put(input);
  }

  /** Returns a future that {@code input} completes, at once or with a later batch. */
  <T> CompletableFuture<T> call(BiConsumer<BrokerEngine, CompletableFuture<T>> input) {
    CompletableFuture<T> call = pending.begin();
    submit(engine -> input.accept(engine, call));
    return call;
  }

  /** Returns a new future, which fails when the broker ends. */
  <T> CompletableFuture<T> begin() {
    return pending.begin();
  }

  /**
   * Blocks until {@code query}, which changes nothing, has run on the thread of the engine.
   *
   * @throws BrokerException if the query throws it, or the broker has ended
   */
  public <T> T query(Function<BrokerEngine, T> query) {
    return PendingCalls.await(queryAsync(query));
  }

  /** As {@link #query}, without blocking. */
  <T> CompletableFuture<T> queryAsync(Function<BrokerEngine, T> query) {
    CompletableFuture<T> call = pending.begin();
    submit(
        engine -> {
          try {
            callbacks.complete(List.of(new Completion<>(call, query.apply(engine))));
          } catch (BrokerException rejection) {
            callbacks.fail(call, rejection);
          }
        });
    return call;
  }

  /**
   * Checks that the broker takes calls.
   *
   * @throws BrokerException if it has ended
   */
  void requireOpen() {
    pending.requireOpen();
  }

  /** Returns why the broker has ended; {@code otherwise} if it has not. */
  Throwable reasonOr(Throwable otherwise) {
    return pending.reasonOr(otherwise);
  }
}
