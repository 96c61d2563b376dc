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
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/** The budgets of one node of a simulation: the classes of production on a simulated link. */
public final class SimulatedGovernor {
  private static final String PREFIX = "token-governor:";

  private final GovernorFleetMember fleet;
  private final RedisBudgetStore store;
  private final Timer timer;

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
   * @param lagNanos how late a caller is told
   */
  public SimulatedGovernor(
      String node,
      Settings settings,
      OutageListener listener,
      BudgetListener decisions,
      LongSupplier spreadNanos,
      LongSupplier lagNanos,
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
    this.timer = new Timer(clock, lagNanos);
    this.store =
        RedisBudgetStore.create(
            fleet, timer, RedisBudgetStore.configs(settings.config), decisions);
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

  /** Returns its timer. */
  public Timer timer() {
    return timer;
  }

  /** Returns the key of the state of a model. */
  public static String stateKey(String model) {
    return ModelKeys.of(PREFIX, model).all()[0];
  }

  /** Returns the key of the tickets of a model that wait. */
  public static String lineKey(String model) {
    return ModelKeys.of(PREFIX, model).all()[2];
  }

  /** The timer of a node. Each caller is told on a thread of its own, so some later than others. */
  public static final class Timer implements StoreTimer {
    private final SimulatedLink.Clock clock;
    private final LongSupplier lagNanos;
    private final List<Runnable> held = new ArrayList<>();
    private boolean holds;
    private boolean stopped;

    private Timer(SimulatedLink.Clock clock, LongSupplier lagNanos) {
      this.clock = clock;
      this.lagNanos = lagNanos;
    }

    /** Keeps what callers are told from now on. */
    public void hold() {
      holds = true;
    }

    /** Tells what is kept. */
    public void release() {
      holds = false;
      held.forEach(this::execute);
      held.clear();
    }

    /** Does nothing at its time any more. */
    public void stop() {
      stopped = true;
    }

    @Override
    public long nanoTime() {
      return clock.nanoTime();
    }

    @Override
    public void schedule(long nanos, Runnable action) {
      clock.after(
          nanos,
          () -> {
            if (!stopped) {
              action.run();
            }
          });
    }

    @Override
    public void execute(Runnable action) {
      if (holds) {
        held.add(action);
      } else {
        clock.after(lagNanos.getAsLong(), action);
      }
    }

    @Override
    public void close() {}
  }
}
