package dev.sluice.governor;

import dev.sluice.governor.local.LocalBudgetStore;
import dev.sluice.governor.spi.StoreTimer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Where budgets, lines and reservations are kept, and where every decision is made: in this process
 * ({@link #inMemory()}), or somewhere that a fleet shares. What it promises is in the contract
 * suite. For any number of threads.
 *
 * <p>Futures fail with {@link IllegalArgumentException} for an unknown model or class and for
 * tokens that are not positive.
 *
 * @since 0.1
 */
public interface BudgetStore extends AutoCloseable {
  /** Makes a store. */
  @FunctionalInterface
  interface Factory {
    /**
     * Opens it.
     *
     * @param config the models
     * @param listener is told what is decided here
     * @return to be closed
     */
    BudgetStore open(BudgetConfig config, BudgetListener listener);
  }

  /**
   * Budgets in this process, which begin full and are forgotten when the store is closed.
   *
   * @return makes one that is apart from all others
   */
  static BudgetStore.Factory inMemory() {
    return (config, listener) -> inMemory(StoreTimer.system()).open(config, listener);
  }

  /**
   * Budgets in this process, at another time.
   *
   * @param timer closed with the store
   * @return makes one that is apart from all others
   */
  static BudgetStore.Factory inMemory(StoreTimer timer) {
    return LocalBudgetStore.inMemory(timer);
  }

  /**
   * Granted, put in line, or refused, in one step over all dimensions.
   *
   * @param request what for
   * @return what became of it
   */
  CompletableFuture<TokenDecision> request(TokenRequest request);

  /**
   * Granted if it can go at once; else nothing happens, and nothing is counted.
   *
   * @param request what for
   * @return empty if it would have to wait; refused only if the budget cannot be asked for now
   */
  CompletableFuture<Optional<TokenDecision>> tryAcquire(TokenRequest request);

  /**
   * What became of a request with this idempotency key.
   *
   * @param request with a key
   * @return empty if there is none in line and none that is not settled
   */
  CompletableFuture<Optional<TokenDecision>> find(TokenRequest request);

  /**
   * How a ticket stands. Until its grant is settled, the answer stays the same.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return empty if there is no such ticket any more
   */
  CompletableFuture<Optional<TokenDecision>> poll(String ticket);

  /**
   * What comes of a ticket. Whoever does not want to wait any longer cancels the future; the ticket
   * stays in line as if it had been polled then.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return completes when it is decided; with nothing if there is no such ticket any more
   */
  CompletableFuture<Optional<TokenDecision>> await(String ticket);

  /**
   * Leaves the line, or gives back what was granted.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return false if there is no such ticket any more
   */
  CompletableFuture<Boolean> cancel(String ticket);

  /**
   * Says what was used of a grant.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens not less than 0
   * @return empty if it was settled before or has ended
   */
  CompletableFuture<Optional<TokenSettlement>> settle(String reservation, long actualTokens);

  /**
   * The reservation lives as long again from now.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @return false if it has ended
   */
  CompletableFuture<Boolean> extend(String reservation);

  /**
   * Returns whose a ticket or a reservation is; its idle timer is not refreshed by this.
   *
   * @param id of {@link TokenDecision.Queued} or {@link TokenDecision.Granted}
   * @return empty if there is no such ticket or reservation any more
   */
  CompletableFuture<Optional<TokenOwner>> owner(String id);

  /**
   * What would become of a request.
   *
   * @param request what for
   * @return what would happen now
   */
  CompletableFuture<TokenExplanation> explain(TokenRequest request);

  /**
   * Goes by what the provider said.
   *
   * @param model whose provider
   * @param adjustment stays until the next, except for its pause; of what several nodes say, the
   *     smallest factor holds
   * @return when it is so
   */
  CompletableFuture<Void> adjust(String model, ProviderAdjustment adjustment);

  /**
   * Goes by another configuration from now on. Levels stay: a model that is there before and after
   * is not refilled by this.
   *
   * @param config the models
   * @return when it is so
   */
  CompletableFuture<Void> reload(BudgetConfig config);

  /**
   * Who is in line. Nobody counts as seen by this.
   *
   * @param model which
   * @param offset how many to leave out, from the first on
   * @param max how many to tell of, from 1 to {@link WaitingListStatus#MAX_TICKETS}
   * @return a part of the line
   */
  CompletableFuture<WaitingListStatus> waitingList(String model, int offset, int max);

  /**
   * How all models stand.
   *
   * @return at this moment
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

  /** Whoever is in line is told that it is over. */
  @Override
  void close();
}
