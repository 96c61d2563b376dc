package dev.sluice.governor.spi;

import dev.sluice.governor.BudgetStore;

/**
 * A store in this process that decides for another one that cannot be asked, and hands over to it.
 *
 * @since 0.1
 */
public interface OutageBudgetStore extends BudgetStore {
  /**
   * Undoes the claim of a ticket whose waiters had gone before the decision reached them. A later
   * call may still claim it; otherwise the grant is returned when the ticket has been idle.
   */
  void undelivered(String ticket);

  /**
   * Ends all decisions. Does not complete the futures of waiters: their tickets are handed over
   * with the rest.
   *
   * @return what is open at this moment, of all models
   */
  StoreSnapshot handOver();
}
