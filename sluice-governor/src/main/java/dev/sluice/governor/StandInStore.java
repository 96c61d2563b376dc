package dev.sluice.governor;

/**
 * A store in this process that decides for another one that cannot be asked, and hands over to it.
 *
 * @since 0.1
 */
public interface StandInStore extends BudgetStore {
  /**
   * Ends all decisions. Callers that wait for a ticket are told nothing: their tickets are handed
   * over with the rest.
   *
   * @return what is open at this moment, of all models
   */
  OpenWork handOver();
}
