package dev.sluice.testkit.contract;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The contracts of stores of budgets, kept in memory. */
@Tag("any-jdk")
final class LocalBudgetTest {
  /** Stores in this process, at a time that goes on when told to. */
  private static final class Local implements BudgetFixture {
    private final ManualStoreTimer timer = new ManualStoreTimer();

    @Override
    public BudgetStore open(BudgetConfig config, BudgetListener listener) {
      return BudgetStore.inMemory(timer).open(config, listener);
    }

    @Override
    public void advance(Duration time) {
      timer.advance(time);
    }

    @Override
    public void setClock(Duration by) {
      timer.set(by);
    }

    @Override
    public long nanos() {
      return timer.nanoTime();
    }
  }

  private final BudgetFixture local = new Local();

  @Nested
  final class Budgets extends BudgetContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Tickets extends TicketContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Reservations extends ReservationContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Reloads extends ReloadContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Explanations extends ExplanationContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Settlements extends SettlementContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class WaitingLists extends WaitingListContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Forecasts extends ForecastContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Routing extends RoutingContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Flaws extends SeedFlawsContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class Scenarios extends SeedScenarioContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }

  @Nested
  final class RandomDays extends BudgetPropertyContract {
    @Override
    protected BudgetFixture fixture() {
      return local;
    }
  }
}
