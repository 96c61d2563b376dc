package dev.sluice.testkit.contract;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import java.time.Duration;

/**
 * Where stores of budgets under contract come from, and the time that they live in; it stands still
 * until told to go on.
 *
 * @since 0.1
 */
public interface BudgetFixture {
  /**
   * A new store, whose budgets nobody has used.
   *
   * @param config the models
   * @param listener is told what is decided
   * @return closed by the suite
   */
  BudgetStore open(BudgetConfig config, BudgetListener listener);

  /**
   * The same budgets and lines once more, as another process has them. Where nobody else can, the
   * store itself.
   *
   * @param store of {@link #open}
   * @param config what that was opened with
   * @return closed by the suite
   */
  default BudgetStore join(BudgetStore store, BudgetConfig config) {
    return store;
  }

  /**
   * Time goes on by exactly this, and whatever is due by then has happened before it returns, each
   * at the moment at which it was due.
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
