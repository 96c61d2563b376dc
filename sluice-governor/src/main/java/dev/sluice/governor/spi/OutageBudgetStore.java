package dev.sluice.governor.spi;

import dev.sluice.governor.BudgetStore;

/**
 * A store in this process that decides for another one that cannot be asked, and hands over to it.
 *
 * @since 0.1
 */
public interface OutageBudgetStore extends BudgetStore {
  /**
   * Undoes the claim of those who awaited a ticket: they had gone before they were told. Somebody
   * may still ask for it; otherwise what was granted is given back in time.
   */
  void unheard(String ticket);

  /**
   * Ends all decisions. Callers that wait for a ticket are told nothing: their tickets are handed
   * over with the rest.
   *
   * @return what is open at this moment, of all models
   */
  StoreSnapshot handOver();
}
