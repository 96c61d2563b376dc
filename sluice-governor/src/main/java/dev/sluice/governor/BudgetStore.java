package dev.sluice.governor;

import dev.sluice.NanoClock;
import dev.sluice.governor.internal.local.LocalBudgetStore;
import dev.sluice.governor.spi.StoreTimer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Keeps budgets, waiting lists and reservations, and decides: in this process ({@link
 * #inMemory()}), or in a place that a fleet shares. The contract suites of sluice-testkit define
 * its behavior. Thread-safe; never blocks.
 *
 * <p>Futures fail with {@link IllegalArgumentException} for an unknown model or class and for
 * tokens that are not positive.
 *
 * @since 0.1
 */
public interface BudgetStore extends AutoCloseable {
  /** Opens stores. */
  @FunctionalInterface
  interface Factory {
    /**
     * Opens a store.
     *
     * @param config the models
     * @param listener receives the decisions
     * @return the store, to be closed
     */
    BudgetStore open(BudgetConfig config, BudgetListener listener);
  }

  /**
   * Returns a factory of stores in this process, which begin with full budgets and forget them when
   * they are closed.
   *
   * @return opens a separate store each time
   */
  static BudgetStore.Factory inMemory() {
    return inMemory(NanoClock.system());
  }

  /**
   * Returns a factory of stores in this process on another clock.
   *
   * @param clock of the stores, such as a {@link dev.sluice.ManualClock}
   * @return opens a separate store each time
   */
  static BudgetStore.Factory inMemory(NanoClock clock) {
    return (config, listener) ->
        LocalBudgetStore.inMemory(StoreTimer.of(clock)).open(config, listener);
  }

  /**
   * Grants, queues or denies a request in one step over all dimensions.
   *
   * @param request the request, with a priority class
   * @return the decision
   */
  CompletableFuture<TokenDecision> request(TokenRequest request);

  /**
   * Grants a request if it can be granted now; otherwise changes and counts nothing.
   *
   * @param request the request, with a priority class
   * @return the grant; empty if the request would have to wait; a denial only if the store of the
   *     budget does not answer or the request is impossible
   */
  CompletableFuture<Optional<TokenDecision>> tryAcquire(TokenRequest request);

  /**
   * Returns the decision on an earlier request with the same idempotency key.
   *
   * @param request with a key
   * @return empty if no such request waits or has an open reservation
   */
  CompletableFuture<Optional<TokenDecision>> find(TokenRequest request);

  /**
   * Returns the present decision for a ticket. A grant is returned again until it is settled.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return empty if there is no such ticket any more
   */
  CompletableFuture<Optional<TokenDecision>> poll(String ticket);

  /**
   * Waits until a ticket is decided. Canceling the future ends the wait only: the ticket stays in
   * the waiting list as if it had been polled at that moment.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return completes with the decision; empty if there is no such ticket any more
   */
  CompletableFuture<Optional<TokenDecision>> await(String ticket);

  /**
   * Removes a ticket from the waiting list, or returns its grant.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return false if there is no such ticket any more
   */
  CompletableFuture<Boolean> cancel(String ticket);

  /**
   * Settles a grant with the tokens that were used.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens at least 0
   * @return empty if the reservation was settled before or has ended
   */
  CompletableFuture<Optional<TokenSettlement>> settle(String reservation, long actualTokens);

  /**
   * Prolongs a reservation: its timeout starts again now.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @return false if the reservation has ended
   */
  CompletableFuture<Boolean> extend(String reservation);

  /**
   * Returns the owner of a ticket or a reservation; does not refresh the ticket's idle timer.
   *
   * @param id of {@link TokenDecision.Queued} or {@link TokenDecision.Granted}
   * @return empty if there is no such ticket or reservation any more
   */
  CompletableFuture<Optional<TokenOwner>> owner(String id);

  /**
   * Predicts the decision on a request and changes nothing.
   *
   * @param request the request, with a priority class
   * @return the decision that it would get now
   */
  CompletableFuture<TokenExplanation> explain(TokenRequest request);

  /**
   * Adjusts the budget of a model by the report of its provider.
   *
   * @param model the model of the provider
   * @param adjustment holds until the next one, except for its pause; of several nodes' adjustments
   *     the smallest factor holds
   * @return completes when the adjustment is in force
   */
  CompletableFuture<Void> adjust(String model, ProviderAdjustment adjustment);

  /**
   * Replaces the configuration. Levels stay: a model of both configurations is not refilled.
   *
   * @param config the models
   * @return completes when the configuration is in force
   */
  CompletableFuture<Void> reload(BudgetConfig config);

  /**
   * Returns a part of the waiting list; does not refresh the idle timers of its tickets.
   *
   * @param model the model
   * @param offset the number of tickets to skip, from the first
   * @param max the most tickets to return, from 1 to {@link WaitingListStatus#MAX_TICKETS}
   * @return a part of the waiting list
   */
  CompletableFuture<WaitingListStatus> waitingList(String model, int offset, int max);

  /**
   * Returns the state of all models.
   *
   * @return the state at this moment
   */
  CompletableFuture<GovernorStatus> status();

  /**
   * Tries to reopen the models that a failure of the file system has closed; to be called about
   * once a second. Returns at once if there are none.
   */
  default void reopen() {}

  /**
   * Returns the models that decide nothing, because their journal cannot be written or read.
   *
   * @return the reason by model; empty for a store without journals
   */
  default Map<String, String> closedModels() {
    return Map.of();
  }

  /** Denies all waiters with {@link TokenDecision.Reason#CLOSED}. */
  @Override
  void close();
}
