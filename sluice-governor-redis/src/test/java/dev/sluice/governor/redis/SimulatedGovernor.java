package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.redis.store.GovernorFleetMember;
import dev.sluice.governor.redis.store.ModelKeys;
import dev.sluice.governor.redis.store.RedisBudgetStore;
import dev.sluice.governor.redis.store.RedisBudgetsConfig;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.connection.FleetConnection;
import dev.sluice.redis.connection.RedisAddress;
import dev.sluice.redis.connection.SimulatedLink;
import java.time.Duration;
import java.util.function.LongSupplier;

/** The budgets of one node of a simulation: the classes of production on a simulated link. */
public final class SimulatedGovernor {
  private static final String PREFIX = "token-governor:";

  private final GovernorFleetMember fleet;
  private final RedisBudgetStore store;

  /**
   * The settings that all nodes have in common.
   *
   * @param timeout how long a node waits for an answer
   * @param expectedNodes among how many a node divides that begins without Redis
   * @param config the models
   */
  public record Settings(Duration timeout, int expectedNodes, BudgetConfig config) {}

  /**
   * Creates budgets with the policy {@code LOCAL}, and begins to connect.
   *
   * @param node the name of the node, 16 characters
   * @param listener is told of outages
   * @param decisions is told what is decided
   * @param spreadNanos how much later than at the first useful moment a line is looked at
   */
  public SimulatedGovernor(
      String node,
      Settings settings,
      OutageListener listener,
      BudgetListener decisions,
      LongSupplier spreadNanos,
      SimulatedLink.Clock clock,
      SimulatedLink.Wire wire) {
    RedisBudgetsConfig config =
        new RedisBudgetsConfig(
            RedisAddress.parse("redis://simulated"),
            PREFIX,
            settings.timeout,
            null,
            settings.expectedNodes,
            OutageMode.LOCAL,
            listener,
            spreadNanos);
    this.fleet =
        new GovernorFleetMember(
            config,
            node,
            (link, membership, member) ->
                SimulatedLink.create(link, membership, member, clock, wire));
    this.store =
        RedisBudgetStore.create(
            fleet, new Timer(clock), RedisBudgetStore.configs(settings.config), decisions);
    SimulatedLink.begin(fleet.connection());
  }

  /** Returns the connection, to look at its state and view. */
  public FleetConnection connection() {
    return fleet.connection();
  }

  /** Returns the budgets. */
  public BudgetStore store() {
    return store;
  }

  /** Returns the key of the state of a model. */
  public static String stateKey(String model) {
    return ModelKeys.of(PREFIX, model).all()[0];
  }

  private record Timer(SimulatedLink.Clock clock) implements StoreTimer {
    @Override
    public long nanoTime() {
      return clock.nanoTime();
    }

    @Override
    public void schedule(long nanos, Runnable action) {
      clock.after(nanos, action);
    }

    @Override
    public void execute(Runnable action) {
      clock.after(0, action);
    }

    @Override
    public void close() {}
  }
}
