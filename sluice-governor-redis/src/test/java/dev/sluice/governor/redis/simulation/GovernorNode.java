package dev.sluice.governor.redis.simulation;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.SimulatedGovernor;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.internal.connection.ConnectionState;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.simulation.Scheduler;
import dev.sluice.redis.simulation.SimulatedMember;
import dev.sluice.redis.simulation.SimulatedServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/** A process with a governor. */
final class GovernorNode extends SimulatedMember {
  private static final int SPREAD_NANOS = 3_000_000;

  private final SimulatedGovernor governor;
  private final int number;
  private final Scheduler scheduler;
  private final GovernorPlan plan;
  private final List<Long> losses = new ArrayList<>();

  /** Grants of its share that are not delivered yet. */
  private final List<Decision> decisions = new ArrayList<>();

  /** Whether Redis need not have reserved its share, from times on. */
  private final TreeMap<Long, Boolean> unreserved = new TreeMap<>();

  /** The most calls at once by the configuration that it loaded, from times on. */
  private final TreeMap<Long, Integer> concurrency = new TreeMap<>();

  GovernorNode(
      Scheduler scheduler,
      SimulatedServer server,
      Random random,
      int number,
      double speed,
      GovernorPlan plan,
      LongSupplier lagNanos) {
    super(scheduler, server, random, "node%012d".formatted(number), speed);
    this.scheduler = scheduler;
    this.number = number;
    this.plan = plan;
    concurrency.put(scheduler.nanos(), plan.concurrency());
    Random spread = new Random(random.nextLong());
    this.governor =
        new SimulatedGovernor(
            name(),
            new SimulatedGovernor.Settings(plan.timeout(), plan.expectedNodes(), plan.config()),
            new OutageListener() {
              @Override
              public void outageStarted(String cause, double share) {
                losses.add(scheduler.nanos());
              }
            },
            new BudgetListener() {
              @Override
              public void granted(TokenRequest request, long tokens, long waited, long nanos) {
                if (isOut()) {
                  decisions.add(new Decision(nameOf(request), scheduler.nanos()));
                }
              }
            },
            new SimulatedGovernor.Delays(() -> spread.nextInt(SPREAD_NANOS), lagNanos),
            this,
            wire());
  }

  private record Decision(String request, long nanos) {
    boolean mayBeOf(Callers.Call call) {
      return request.equals(nameOf(call.request)) && nanos >= call.askedNanos;
    }
  }

  private static String nameOf(TokenRequest request) {
    return request.priorityClass() + ' ' + request.tenant() + ' ' + request.tokens();
  }

  /** Returns whether its share has an undelivered grant for a call. */
  boolean hasDecided(Callers.Call call) {
    return decisions.stream().anyMatch(each -> each.mayBeOf(call));
  }

  /**
   * Returns the time at which its share made the grant that a caller receives now. Callers that may
   * receive it later ask for different numbers of tokens, so that it is clear which one it is.
   */
  long decidedNanos(Callers.Call call) {
    for (Decision each : decisions) {
      if (each.mayBeOf(call)) {
        decisions.remove(each);
        return each.nanos;
      }
    }
    return scheduler.nanos();
  }

  BudgetStore store() {
    return governor.store();
  }

  SimulatedGovernor.Timer timer() {
    return governor.timer();
  }

  @Override
  public FleetConnection connection() {
    return governor.connection();
  }

  /** Loads another configuration. */
  void reload(int calls) {
    concurrency.put(scheduler.nanos(), calls);
    var unused = store().reload(plan.config(calls));
  }

  /** Returns the concurrency that its share divides; at a reload, the larger number. */
  int concurrencyAt(long nanos) {
    Map.Entry<Long, Integer> before = concurrency.lowerEntry(nanos);
    int now = concurrency.floorEntry(nanos).getValue();
    return before == null ? now : Math.max(now, before.getValue());
  }

  boolean isOut() {
    return connection().state() == ConnectionState.OUT;
  }

  /** Returns the times at which its outages started. */
  List<Long> losses() {
    return losses;
  }

  void noteUnreserved(boolean now) {
    if (unreserved.isEmpty() || unreserved.lastEntry().getValue() != now) {
      unreserved.put(scheduler.nanos(), now);
    }
  }

  /** Returns whether Redis need not have reserved its share at a time. */
  boolean wasUnreservedAt(long nanos) {
    Map.Entry<Long, Boolean> last = unreserved.floorEntry(nanos);
    return last == null || last.getValue();
  }

  @Override
  protected void leave() {
    throw new UnsupportedOperationException("a node waits for answers by real time as it leaves");
  }

  @Override
  public String toString() {
    return "node" + number;
  }
}
