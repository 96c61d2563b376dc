package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.redis.internal.store.GovernorFleetMember;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.governor.redis.internal.store.RedisBudgetStore;
import dev.sluice.governor.redis.internal.store.RedisBudgetsConfig;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.RedisAddress;
import dev.sluice.redis.internal.connection.SimulatedLink;
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
   * @param timeout the timeout of a call
   * @param expectedNodes the number of shares for a node that starts without Redis
   * @param config the models
   */
  public record Settings(Duration timeout, int expectedNodes, BudgetConfig config) {}

  /**
   * The random delays of a node.
   *
   * @param spreadNanos the delay of a check of a waiting list after the first useful moment
   * @param lagNanos the delay of a callback
   */
  public record Delays(LongSupplier spreadNanos, LongSupplier lagNanos) {}

  /**
   * Creates budgets with outage mode {@code LOCAL}, and begins to connect.
   *
   * @param node the name of the node, 16 characters
   * @param listener receives outages
   * @param decisions receives decisions
   */
  public SimulatedGovernor(
      String node,
      Settings settings,
      OutageListener listener,
      BudgetListener decisions,
      Delays delays,
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
            delays.spreadNanos);
    this.fleet =
        new GovernorFleetMember(
            config,
            node,
            (link, membership, member) ->
                SimulatedLink.create(link, membership, member, clock, wire));
    this.timer = new Timer(clock, delays.lagNanos);
    this.store =
        RedisBudgetStore.create(fleet, timer, RedisBudgetStore.configs(settings.config), decisions);
    SimulatedLink.begin(fleet.connection());
  }

  /** Returns the connection, for its state and view. */
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

  /** Returns the key of the waiting tickets of a model. */
  public static String waitingListKey(String model) {
    return ModelKeys.of(PREFIX, model).all()[2];
  }

  /** The timer of a node. Callbacks run on threads of their own, some later than others. */
  public static final class Timer implements StoreTimer {
    private final SimulatedLink.Clock clock;
    private final LongSupplier lagNanos;
    private final List<Runnable> delayed = new ArrayList<>();
    private boolean delaying;
    private boolean stopped;

    private Timer(SimulatedLink.Clock clock, LongSupplier lagNanos) {
      this.clock = clock;
      this.lagNanos = lagNanos;
    }

    /** Delays all callbacks from now on. */
    public void hold() {
      delaying = true;
    }

    /** Runs the delayed callbacks. */
    public void release() {
      delaying = false;
      delayed.forEach(this::execute);
      delayed.clear();
    }

    /** Runs no delayed actions any more. */
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
      if (delaying) {
        delayed.add(action);
      } else {
        clock.after(lagNanos.getAsLong(), action);
      }
    }

    @Override
    public void close() {}
  }
}
