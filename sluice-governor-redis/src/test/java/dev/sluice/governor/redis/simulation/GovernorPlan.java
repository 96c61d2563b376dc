package dev.sluice.governor.redis.simulation;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.redis.simulation.Faults;
import dev.sluice.redis.simulation.Faults.Fault;
import dev.sluice.redis.simulation.Faults.Severity;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * The initial state and the events of a simulation.
 *
 * @param nodes nodes at the start
 * @param clockError the largest error of the rate of a node's clock
 * @param timeout the timeout of a call
 * @param expectedNodes the number of shares for a node that starts without Redis
 * @param perSecond tokens that accrue in a second
 * @param burst the most tokens
 * @param concurrency the most calls at once
 * @param kind the limit that callers exhaust
 * @param size tokens of most requests
 * @param longestCallMillis the longest call
 * @param reloadsTo concurrency that all nodes load in an outage, too little to divide; 0 for none
 * @param restless whether some callers cancel their waits and go from node to node
 * @param faults in the order of their times
 * @param endNanos when all faults have begun
 */
record GovernorPlan(
    int nodes,
    double clockError,
    Duration timeout,
    int expectedNodes,
    long perSecond,
    long burst,
    int concurrency,
    Kind kind,
    long size,
    int longestCallMillis,
    int reloadsTo,
    boolean restless,
    List<Fault> faults,
    long endNanos) {
  GovernorPlan {
    // Faults that consist of several may end later than planned.
    endNanos = Math.max(endNanos, faults.get(faults.size() - 1).nanos());
  }

  static final String MODEL = "m";
  static final Duration IDLE_TIMEOUT = Duration.ofSeconds(5);
  static final List<String> CLASSES = List.copyOf(SeedBudget.CLASSES.keySet());

  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long WARM_UP = 2 * SECOND;

  /** So long that a slot that is leaked is missing until the end. */
  private static final Duration RESERVATION_TIMEOUT = Duration.ofMinutes(30);

  /** The dimension that is scarce. */
  enum Kind {
    TOKENS,
    SLOTS,
    /** Of tokens, most of which come back: large reservations, of which little is used. */
    REFUNDS
  }

  /** Returns the plan of a seed. One of ten loses data. */
  static GovernorPlan random(long seed) {
    Random random = new Random(seed * 7 + 4);
    Kind kind = Kind.values()[random.nextInt(3)];
    int nodes = 1 + random.nextInt(4);
    long perSecond = 200L + random.nextInt(1_000);
    long burst = perSecond * (2 + random.nextInt(kind == Kind.REFUNDS ? 2 : 8));
    long end = WARM_UP + (5 + random.nextInt(8)) * SECOND;
    return new GovernorPlan(
        nodes,
        List.of(0.0, 1e-4, 1e-2).get(random.nextInt(3)),
        Duration.ofMillis(List.of(50, 100, 250, 1_000).get(random.nextInt(4))),
        random.nextBoolean() ? 1 : nodes,
        perSecond,
        burst,
        kind == Kind.SLOTS ? nodes + random.nextInt(10) : 60,
        kind,
        kind == Kind.TOKENS ? perSecond / 3 : kind == Kind.SLOTS ? perSecond / 9 : burst / 8,
        kind == Kind.TOKENS ? 800 : kind == Kind.SLOTS ? 3_000 : 6_000,
        kind == Kind.SLOTS && random.nextInt(4) == 0 ? nodes - 1 : 0,
        Math.floorMod(seed, 3L) < 2,
        faults(seed, random, kind, end),
        end);
  }

  private static List<Fault> faults(long seed, Random random, Kind kind, long end) {
    Severity severity = Math.floorMod(seed, 10L) == 7 ? Severity.DATA_LOST : Severity.DATA_KEPT;
    List<Fault> faults =
        new ArrayList<>(Faults.random(new Random(seed * 7 + 5), severity, WARM_UP, end));
    if (kind == Kind.REFUNDS && random.nextBoolean()) {
      long length = 4 * SECOND + (long) (random.nextDouble() * 7 * SECOND);
      faults.add(Faults.cut(WARM_UP + random.nextInt(5) * SECOND, random.nextInt(8), length));
    } else if (random.nextInt(2) == 0) {
      long length = SECOND + (long) (random.nextDouble() * 19 * SECOND);
      faults.add(Faults.stopOfRedis(WARM_UP + random.nextInt(5) * SECOND, length));
    }
    if (Math.floorMod(seed, 4L) == 1) {
      faults.add(lostReport(new Random(seed * 7 + 7)));
    }
    if (Math.floorMod(seed, 3L) < 2 && Math.floorMod(seed, 4L) == 3) {
      // Callers of a node that is cut off go on at the others.
      Random cut = new Random(seed * 7 + 8);
      long length = 3 * SECOND + (long) (cut.nextDouble() * 5 * SECOND);
      faults.add(Faults.cut(WARM_UP + cut.nextInt(4) * SECOND, cut.nextInt(8), length));
    }
    faults.sort(Comparator.comparingLong(Fault::nanos));
    return faults;
  }

  /**
   * An outage of a node, whose report Redis takes without the node's hearing so, and another one.
   */
  private static Fault lostReport(Random random) {
    return Faults.lostAnswers(
        WARM_UP + random.nextInt(3) * SECOND,
        random.nextInt(8),
        "REPORT",
        1 + random.nextInt(2),
        2 * SECOND + (long) (random.nextDouble() * 3 * SECOND),
        (long) (random.nextDouble() * 3 * SECOND),
        2 * SECOND + (long) (random.nextDouble() * 4 * SECOND));
  }

  /** Returns how many tokens a request asks for. */
  long tokens(Random random) {
    if (kind == Kind.REFUNDS && random.nextInt(3) == 0) {
      return burst / 2 + (long) (random.nextDouble() * burst / 2);
    }
    return random.nextInt(10) < 7 ? size : 1 + (long) (random.nextDouble() * 3 * size);
  }

  /** Returns about how many tokens the average request uses. */
  double meanTokens() {
    return kind == Kind.REFUNDS ? 0.15 * burst : 1.1 * size;
  }

  /** Returns how many tokens of a grant are used. */
  long used(Random random, long granted) {
    if (kind == Kind.REFUNDS && random.nextInt(4) > 0) {
      return (long) (random.nextDouble() * granted / 8);
    }
    return random.nextInt(3) > 0 ? granted : (long) (random.nextDouble() * granted);
  }

  BudgetConfig config() {
    return config(concurrency);
  }

  /** Returns the same with another number of calls at once. */
  BudgetConfig config(int slots) {
    ModelBudget budget =
        SeedBudget.budget(perSecond * 60, burst).maxConcurrentRequests(slots).build();
    WaitingListConfig rules =
        WaitingListConfig.builder()
            .maxWaiting(10_000)
            .ticketIdleTimeout(IDLE_TIMEOUT)
            .reservationTimeout(RESERVATION_TIMEOUT)
            .drainBatch(10)
            .refillInterval(Duration.ofSeconds(60))
            .build();
    return BudgetConfig.builder().models(Map.of(MODEL, budget)).waitingList(rules).build();
  }
}
