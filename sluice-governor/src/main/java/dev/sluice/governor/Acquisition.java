package dev.sluice.governor;

import dev.sluice.governor.spi.StoreTimer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/*
 * The caller may cancel at any moment. Cancellation and decision race for `result`: whichever
 * completes it wins. If the caller wins, the ticket is canceled, which also returns its grant; a
 * grant without a ticket is settled with 0 tokens.
 */

/** A call of {@link Governor#acquire}: requests tokens and waits for the ticket. */
final class Acquisition {
  private final BudgetStore store;
  private final TokenRequest request;
  private final StoreTimer timer;
  private final CompletableFuture<TokenDecision> result = new CompletableFuture<>();

  Acquisition(BudgetStore store, TokenRequest request, StoreTimer timer) {
    this.store = store;
    this.request = request;
    this.timer = timer;
  }

  /** Continues with the answer to the request. */
  CompletableFuture<TokenDecision> start(CompletableFuture<TokenDecision> requested) {
    if (requested.isDone()) {
      var unused = requested.whenComplete(this::requested);
    } else {
      // The store's thread must not run code of the caller, which may block.
      var unused =
          requested.whenComplete(
              (decision, failure) -> timer.execute(() -> requested(decision, failure)));
    }
    return result;
  }

  private void requested(@Nullable TokenDecision decision, @Nullable Throwable failure) {
    if (decision instanceof TokenDecision.Queued queued) {
      await(queued);
    } else if (decision != null) {
      complete(decision);
    } else if (failure != null) {
      result.completeExceptionally(Futures.cause(failure));
    }
  }

  private void complete(TokenDecision decision) {
    if (!result.complete(decision) && decision instanceof TokenDecision.Granted granted) {
      var unused = Futures.start(() -> store.settle(granted.reservation(), 0));
    }
  }

  private void await(TokenDecision.Queued queued) {
    String ticket = queued.ticket();
    CompletableFuture<Optional<TokenDecision>> awaited = Futures.start(() -> store.await(ticket));
    var unusedRelease =
        result.whenComplete(
            (decision, failure) -> {
              if (failure != null) {
                leave(ticket, awaited);
              }
            });
    var unused =
        awaited.whenComplete(
            (decision, failure) -> {
              if (failure == null) {
                result.complete(decision.orElseGet(() -> gone(queued)));
              } else {
                result.completeExceptionally(Futures.cause(failure));
              }
            });
  }

  /** Cancels the ticket; if that fails, its idle timer starts when nothing awaits it. */
  private void leave(String ticket, CompletableFuture<Optional<TokenDecision>> awaited) {
    var unused =
        Futures.start(() -> store.cancel(ticket))
            .whenComplete((canceled, failure) -> awaited.cancel(false));
  }

  private TokenDecision gone(TokenDecision.Queued queued) {
    return new TokenDecision.Denied(
        queued.model(),
        queued.priorityClass(),
        request.tokens(),
        queued.remaining(),
        TokenDecision.Reason.ABANDONED,
        "the store has lost its ticket: " + queued.ticket());
  }
}
