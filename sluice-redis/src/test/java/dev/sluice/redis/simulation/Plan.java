package dev.sluice.redis.simulation;

import dev.sluice.Limit;
import dev.sluice.redis.TokenBlockConfig;
import dev.sluice.redis.simulation.Faults.Fault;
import dev.sluice.redis.simulation.Faults.Severity;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * The initial state and the events of a simulation.
 *
 * @param nodes nodes at the start
 * @param clockError by how much the clock of a node runs too fast or too slow at most, as a part
 * @param settings of all nodes
 * @param lonely whether callers ask only nodes that decide by themselves, as long as faults happen:
 *     Redis then learns about many absences before it touches a bucket
 * @param faults in the order of their times
 * @param endNanos when the last fault may begin
 */
record Plan(
    int nodes,
    double clockError,
    SimulatedNode.Settings settings,
    boolean lonely,
    List<Fault> faults,
    long endNanos) {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  static final long WARM_UP = 2 * SECOND;

  /** Returns the plan of a seed: three of ten lose data or have a clock that is set. */
  static Plan random(long seed) {
    Random random = new Random(seed * 7 + 4);
    int nodes = 1 + random.nextInt(4);
    SimulatedNode.Settings settings =
        new SimulatedNode.Settings(
            targets(random),
            Duration.ofMillis(List.of(50, 100, 250, 1_000, 3_000).get(random.nextInt(5))),
            random.nextBoolean() ? 1 : nodes,
            lease(random));
    double clockError = List.of(0.0, 1e-4, 1e-2).get(random.nextInt(3));
    long end = WARM_UP + (5 + random.nextInt(10)) * SECOND;
    List<Fault> faults = Faults.random(new Random(seed * 7 + 5), severity(seed), WARM_UP, end);
    return new Plan(nodes, clockError, settings, random.nextInt(6) == 0, faults, end);
  }

  /** Returns a plan in which Redis stands still, again and again, and nothing else happens. */
  static Plan stops(long seed, boolean lonely, int count) {
    Random random = new Random(seed * 7 + 4);
    int rate = 20 + random.nextInt(200);
    // It must not be full before the end: what is granted twice would not show.
    Target target = Target.balanced(Target.Kind.BUCKET, "limit", 15L * count * rate, rate);
    SimulatedNode.Settings settings =
        new SimulatedNode.Settings(
            List.of(target),
            Duration.ofMillis(random.nextBoolean() ? 100 : 1_000),
            1,
            TokenBlockConfig.DEFAULTS);
    List<Fault> faults = new ArrayList<>();
    long at = WARM_UP;
    for (int i = 0; i < count; i++) {
      long length = 3 * SECOND + (long) (random.nextDouble() * 6 * SECOND / count);
      faults.add(Faults.stopOfRedis(at, length));
      at += length + SECOND + (long) (random.nextDouble() * SECOND);
    }
    return new Plan(2 + random.nextInt(3), 0, settings, lonely, faults, at);
  }

  private static Severity severity(long seed) {
    return switch ((int) Math.floorMod(seed, 10L)) {
      case 7 -> Severity.DATA_LOST;
      case 8 -> Severity.OLDER_DATA;
      case 9 -> Severity.CLOCK_STEP;
      default -> Severity.DATA_KEPT;
    };
  }

  private static List<Target> targets(Random random) {
    List<Target> targets = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      targets.add(Target.random(random, i));
    }
    if (targets.stream().anyMatch(target -> target.kind() == Target.Kind.KEY)) {
      targets.add(new Target(Target.Kind.KEY, "other", new Limit.Rate(150, 300)));
    }
    return targets;
  }

  /** Large blocks that last: with the usual ones a fleet of this size holds little of a limit. */
  private static TokenBlockConfig lease(Random random) {
    return random.nextInt(5) == 0
        ? TokenBlockConfig.DEFAULTS
        : new TokenBlockConfig(
            Duration.ofSeconds(2 + random.nextInt(20)),
            0.2 + 0.3 * random.nextDouble(),
            Duration.ofSeconds(2),
            0);
  }
}
