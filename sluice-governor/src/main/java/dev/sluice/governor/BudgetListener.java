package dev.sluice.governor;

/**
 * Receives the decisions of a {@link BudgetStore}, in order for each model and under the model's
 * lock: it must not block and must not call the store.
 *
 * @since 0.1
 */
public interface BudgetListener {
  /** Does nothing. */
  BudgetListener NONE = new BudgetListener() {};

  /**
   * A request was granted at once, queued or denied.
   *
   * @param request the request
   * @param outcome the decision
   * @param nanos of the store's clock
   */
  default void requested(TokenRequest request, TokenDecision outcome, long nanos) {}

  /**
   * Tokens were granted, at once or from the waiting list.
   *
   * @param request the request
   * @param tokens the tokens that were charged
   * @param waitedNanos the time since the request
   * @param nanos of the store's clock
   */
  default void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {}

  /**
   * A reservation was settled.
   *
   * @param settled the settlement
   * @param grantedNanos the time of the grant
   * @param nanos of the store's clock
   */
  default void settled(TokenSettlement settled, long grantedNanos, long nanos) {}

  /**
   * A decision found new tokens.
   *
   * @param model the model
   * @param tokens the number of new whole tokens
   * @param available the number of tokens now
   * @param nanos of the store's clock
   */
  default void refilled(String model, long tokens, long available, long nanos) {}
}
