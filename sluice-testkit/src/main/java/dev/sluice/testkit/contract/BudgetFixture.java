package dev.sluice.testkit.contract;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import java.time.Duration;

/**
 * Opens the budget stores under contract, and controls their clock, which moves only by {@link
 * #advance} and {@link #setClock}.
 *
 * @since 0.1
 */
public interface BudgetFixture {
  /**
   * Opens a new store with unused budgets.
   *
   * @param config the models
   * @param listener receives the decisions
   * @return closed by the suite
   */
  BudgetStore open(BudgetConfig config, BudgetListener listener);

  /**
   * Opens the same budgets and waiting lists as another process would. Returns the store itself if
   * it cannot be shared.
   *
   * @param store of {@link #open}
   * @param config what that was opened with
   * @return closed by the suite
   */
  default BudgetStore join(BudgetStore store, BudgetConfig config) {
    return store;
  }

  /**
   * Advances the clock by exactly this time. Everything due by then has happened when this returns,
   * each at the instant at which it was due.
   *
   * @param time whole microseconds
   */
  void advance(Duration time);

  /**
   * Sets the clock; the store notices with the next call.
   *
   * @param by how much later, or earlier if it is negative, in whole microseconds
   */
  void setClock(Duration by);

  /**
   * Returns the time that a {@link BudgetListener} is given.
   *
   * @return nanoseconds of the store's clock
   */
  long nanos();
}
