package dev.sluice.redis.simulation;

import dev.sluice.redis.internal.connection.ConnectionState;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Callers: from idle to three times the limit, and bursts that take whatever there is. */
final class Load {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final int PAUSE_MILLIS = 250;
  private static final int SATURATING_MILLIS = 60;

  private final OutageSimulation simulation;
  private final Random random;
  private final Map<Target, Mood> moods = new HashMap<>();

  /**
   * Whether callers request little while Redis is silent. Requests in its socket are then charged
   * without being granted; many of them would hide tokens that are granted twice.
   */
  private final boolean careful;

  /** As {@link Plan#lonely} says. */
  private final boolean lonely;

  private boolean rests;
  private boolean saturates;

  /** How much callers want for a while. */
  private record Mood(double demand, boolean takesAll, long untilNanos) {}

  Load(OutageSimulation simulation, boolean lonely, Random random) {
    this.simulation = simulation;
    this.random = random;
    this.careful = random.nextInt(3) > 0;
    this.lonely = lonely;
  }

  /** From now on callers want nothing. */
  void rest() {
    rests = true;
  }

  /** From now on callers want more than there is, in small portions. */
  void saturate() {
    rests = false;
    saturates = true;
  }

  /** Has callers at a node. */
  void begin(SimulatedNode node) {
    boolean keys = false;
    for (Target target : simulation.targets()) {
      if (target.kind() != Target.Kind.KEY || !keys) {
        later(node, target);
      }
      keys |= target.kind() == Target.Kind.KEY;
    }
  }

  private void later(SimulatedNode node, Target target) {
    int millis = saturates ? SATURATING_MILLIS : PAUSE_MILLIS;
    long pause = (millis / 2 + random.nextInt(millis)) * MILLI + random.nextInt((int) MILLI);
    simulation
        .scheduler()
        .after(
            pause,
            node,
            () -> {
              if (!rests && !waits(node)) {
                call(node, target);
              }
              later(node, target);
            });
  }

  private boolean waits(SimulatedNode node) {
    return lonely && simulation.isTroubled() && node.connection().state() != ConnectionState.OUT;
  }

  private void call(SimulatedNode node, Target target) {
    Mood mood = mood(target);
    double capacity = target.capacity();
    if (mood.takesAll && !saturates) {
      ask(node, target, Math.max(1, (long) Math.pow(capacity, random.nextDouble())), 7);
      return;
    }
    double demand = saturates ? 3 : mood.demand;
    int millis = saturates ? SATURATING_MILLIS : PAUSE_MILLIS;
    long nodes =
        simulation.nodes().stream().filter(each -> each.isAlive() && !each.isLeaving()).count();
    double mean = demand * target.perNano() * millis * MILLI / nodes;
    long tokens = (long) (mean * (saturates ? 1 : 2 * random.nextDouble()));
    if (tokens > 0 || saturates || random.nextInt(4) == 0) {
      ask(node, target, Math.max(1, Math.min((long) capacity, tokens)), saturates ? 8 : 0);
    }
  }

  private Mood mood(Target target) {
    Mood present = moods.get(target);
    long now = simulation.scheduler().nanos();
    if (present == null || present.untilNanos < now) {
      long until = now + (300 + random.nextInt(5_000)) * MILLI;
      int kind = random.nextInt(8);
      double demand = kind < 2 ? 0 : 3 * random.nextDouble();
      present = new Mood(demand, lonely || kind > 3, until);
      moods.put(target, present);
    }
    return present;
  }

  /** Asks, then for twice as much if it is granted, for half as much if it is denied. */
  private void ask(SimulatedNode node, Target target, long tokens, int tries) {
    if (careful && tokens > 1 && node.connection().state() == ConnectionState.SUSPECT) {
      ask(node, target, 1, 0);
      return;
    }
    CompletableFuture<Boolean> answer;
    List<Target> targets;
    if (target.kind() == Target.Kind.KEY) {
      targets =
          simulation.targets().stream().filter(each -> each.kind() == Target.Kind.KEY).toList();
      Map<String, Long> costs = new LinkedHashMap<>();
      targets.forEach(each -> costs.put(each.name(), tokens));
      answer = node.ask(costs);
    } else {
      targets = List.of(target);
      answer = node.ask(target, tokens);
    }
    var unused =
        answer.thenAccept(
            granted -> {
              if (granted) {
                targets.forEach(each -> simulation.granted(node, each, tokens));
              }
              long next = granted ? Math.min((long) target.capacity(), tokens * 2) : tokens / 2;
              if (next > 0 && tries > 0) {
                simulation.scheduler().after(MILLI, node, () -> ask(node, target, next, tries - 1));
              }
            });
  }
}
