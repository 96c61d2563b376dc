package dev.sluice.governor.redis;

import dev.sluice.testkit.contract.BudgetContract;
import dev.sluice.testkit.contract.BudgetFixture;
import dev.sluice.testkit.contract.BudgetPropertyContract;
import dev.sluice.testkit.contract.ExplanationContract;
import dev.sluice.testkit.contract.ForecastContract;
import dev.sluice.testkit.contract.ReloadContract;
import dev.sluice.testkit.contract.ReservationContract;
import dev.sluice.testkit.contract.RoutingContract;
import dev.sluice.testkit.contract.SeedFlawsContract;
import dev.sluice.testkit.contract.SeedScenarioContract;
import dev.sluice.testkit.contract.SettlementContract;
import dev.sluice.testkit.contract.TicketContract;
import dev.sluice.testkit.contract.WaitingListContract;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The contracts of budget stores, for the store in Redis. */
@Tag("any-jdk")
final class RedisBudgetContractTest {
  @AutoClose private static final ManualClockBudgets redis = new ManualClockBudgets();

  @Nested
  final class Budgets extends BudgetContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Tickets extends TicketContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Reservations extends ReservationContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Reloads extends ReloadContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Explanations extends ExplanationContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Settlements extends SettlementContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Waiters extends WaitingListContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Forecasts extends ForecastContract {
    @Override
    protected int models() {
      return Math.min(super.models() / 4, 250);
    }

    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Routing extends RoutingContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Flaws extends SeedFlawsContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Scenarios extends SeedScenarioContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class AnyDay extends BudgetPropertyContract {
    /** A day takes a quarter of a second here. */
    private static final int MOST_DAYS = 500;

    @Override
    protected int days() {
      return Math.min(super.days() / 2, MOST_DAYS);
    }

    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }
}
