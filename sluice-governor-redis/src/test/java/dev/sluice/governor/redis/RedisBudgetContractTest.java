package dev.sluice.governor.redis;

import dev.sluice.testkit.BudgetContract;
import dev.sluice.testkit.BudgetFixture;
import dev.sluice.testkit.BudgetPropertyContract;
import dev.sluice.testkit.ForecastContract;
import dev.sluice.testkit.ReservationContract;
import dev.sluice.testkit.RoutingContract;
import dev.sluice.testkit.SeedFlawsContract;
import dev.sluice.testkit.SeedScenarioContract;
import dev.sluice.testkit.SettlementContract;
import dev.sluice.testkit.TicketContract;
import dev.sluice.testkit.WaitingListContract;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The contracts of stores of budgets, kept in Redis. */
@Tag("any-jdk")
final class RedisBudgetContractTest {
  @AutoClose private static final StandingBudgets redis = new StandingBudgets();

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
  final class Settlements extends SettlementContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Line extends WaitingListContract {
    @Override
    protected BudgetFixture fixture() {
      return redis;
    }
  }

  @Nested
  final class Forecasts extends ForecastContract {
    @Override
    protected int models() {
      return super.models() / 4;
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
