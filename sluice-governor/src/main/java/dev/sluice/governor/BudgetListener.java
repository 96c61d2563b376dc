package dev.sluice.governor;

/**
 * Is told what a {@link BudgetStore} decides, in order for each model, while the model's desk
 * waits: it must be quick, and must not call back.
 *
 * @since 0.1
 */
public interface BudgetListener {
  /** Does nothing. */
  BudgetListener NONE = new BudgetListener() {};

  /**
   * Somebody asked, and was granted at once, put in line, or refused.
   *
   * @param request what for
   * @param outcome what became of it
   * @param nanos of the store's clock
   */
  default void requested(TokenRequest request, TokenDecision outcome, long nanos) {}

  /**
   * Tokens were granted, at once or from the line.
   *
   * @param request what for
   * @param tokens what was charged
   * @param waitedNanos since it was asked for
   * @param nanos of the store's clock
   */
  default void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {}

  /**
   * A reservation was settled.
   *
   * @param settled what became of it
   * @param grantedNanos when it had been granted
   * @param nanos of the store's clock
   */
  default void settled(TokenSettlement settled, long grantedNanos, long nanos) {}

  /**
   * New tokens were found by a decision.
   *
   * @param model whose
   * @param tokens how many whole tokens there are more
   * @param available how many there are now
   * @param nanos of the store's clock
   */
  default void refilled(String model, long tokens, long available, long nanos) {}
}
