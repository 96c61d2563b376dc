package dev.sluice.governor;

import dev.sluice.governor.spi.StoreClosedException;
import java.time.Duration;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Chooses among the equivalent models of a route: the first that grants at once, else the one with
 * the shortest wait.
 */
final class ModelRouter {
  /** Requests with one key must not be sent to two models at the same time. */
  private static final int STRIPES = 64;

  /** Longer than any forecast. */
  private static final Duration NO_FORECAST = Duration.ofSeconds(Long.MAX_VALUE);

  private final BudgetStore store;
  private final List<SerialOperations> stripes =
      Stream.generate(SerialOperations::new).limit(STRIPES).toList();

  ModelRouter(BudgetStore store) {
    this.store = store;
  }

  /** Requests one of {@code equivalents}, which differ in their model only. */
  CompletableFuture<TokenDecision> request(List<TokenRequest> equivalents) {
    TokenRequest any = equivalents.get(0);
    return any.idempotencyKey() == null
        ? place(equivalents)
        : stripes
            .get(Math.floorMod(Objects.hash(any.tenant(), any.idempotencyKey()), STRIPES))
            .run(() -> orElse(findEarlier(equivalents.iterator()), () -> place(equivalents)));
  }

  /** Completes with the decision for an earlier request with the same idempotency key, if any. */
  private CompletableFuture<Optional<TokenDecision>> findEarlier(Iterator<TokenRequest> left) {
    if (!left.hasNext()) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return unlessClosed(store::find, left.next())
        .thenCompose(
            found -> {
              Optional<TokenDecision> earlier = found.flatMap(same -> same);
              return earlier.isPresent()
                  ? CompletableFuture.completedFuture(earlier)
                  : findEarlier(left);
            });
  }

  private CompletableFuture<TokenDecision> place(List<TokenRequest> equivalents) {
    return orElse(tryAcquire(equivalents.iterator(), null), () -> queue(equivalents));
  }

  /**
   * Tries one model after the other. Without a grant, completes with {@code unavailable} or the
   * denial of a later model: with one model's wait unknown, the shortest one is unknown too.
   */
  private CompletableFuture<Optional<TokenDecision>> tryAcquire(
      Iterator<TokenRequest> left, @Nullable TokenDecision unavailable) {
    if (!left.hasNext()) {
      return CompletableFuture.completedFuture(Optional.ofNullable(unavailable));
    }
    return unlessClosed(store::tryAcquire, left.next())
        .thenCompose(
            tried -> {
              TokenDecision now = tried.flatMap(same -> same).orElse(null);
              return now == null || !isGrantedOrQueued(now)
                  ? tryAcquire(left, now == null ? unavailable : now)
                  : CompletableFuture.completedFuture(Optional.of(now));
            });
  }

  private static boolean isGrantedOrQueued(TokenDecision decision) {
    return decision.isGranted() || decision instanceof TokenDecision.Queued;
  }

  /** Requests the model with the shortest wait; each request has its own estimate. */
  private CompletableFuture<TokenDecision> queue(List<TokenRequest> equivalents) {
    return explain(equivalents)
        .thenCompose(
            best ->
                store.request(
                    equivalents.stream()
                        .filter(each -> each.model().equals(best.model()))
                        .findFirst()
                        .orElseThrow()));
  }

  /** Explains the request for the model that would be chosen. */
  CompletableFuture<TokenExplanation> explain(List<TokenRequest> equivalents) {
    List<CompletableFuture<Optional<TokenExplanation>>> explained =
        equivalents.stream().map(each -> unlessClosed(store::explain, each)).toList();
    return CompletableFuture.allOf(explained.toArray(CompletableFuture<?>[]::new))
        .thenApply(
            done ->
                explained.stream()
                    .flatMap(each -> each.join().stream())
                    .min(
                        Comparator.comparing(TokenExplanation::outcome)
                            // A model without a forecast comes last.
                            .thenComparing(each -> each.eta().orElse(NO_FORECAST)))
                    .orElseThrow(
                        () -> new StoreClosedException("all models of the route are closed")));
  }

  private static CompletableFuture<TokenDecision> orElse(
      CompletableFuture<Optional<TokenDecision>> first,
      Supplier<CompletableFuture<TokenDecision>> otherwise) {
    return first.thenCompose(
        decided -> decided.map(CompletableFuture::completedFuture).orElseGet(otherwise));
  }

  /** Completes with nothing if the model of {@code request} is closed: it cannot be chosen. */
  private static <T> CompletableFuture<Optional<T>> unlessClosed(
      Function<TokenRequest, CompletableFuture<T>> question, TokenRequest request) {
    return Futures.start(() -> question.apply(request))
        .handle(
            (answer, failure) -> {
              if (failure == null) {
                return Optional.of(answer);
              }
              if (Futures.cause(failure) instanceof StoreClosedException) {
                return Optional.empty();
              }
              throw Futures.rethrown(failure);
            });
  }
}
