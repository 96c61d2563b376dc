package dev.sluice.redis.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.properties.Seeds;
import dev.sluice.redis.TokenBlockConfig;
import dev.sluice.redis.internal.connection.MembersView;
import dev.sluice.redis.simulation.Faults.Fault;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.ObjLongConsumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Limits of a fleet under faults of Redis, of the network and of nodes, in virtual time.
 *
 * <p>{@code -Dsluice.seeds=N} runs N seeds, at most 2,000; {@code -Dsluice.seed=S} runs that one
 * and prints what happened.
 */
class OutageSimulationTest {
  private static final int USUAL_SEEDS = 200;
  private static final int MOST_SEEDS = 2_000;
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private static RedisServer server;
  private static RedisScripts scripts;

  @BeforeAll
  static void start() {
    server = RedisServer.start();
    scripts = new RedisScripts(server.port());
  }

  @AfterAll
  static void stop() throws IOException {
    scripts.close();
    server.close();
  }

  @Test
  void noWindow_exceedsTheLimit_underAnyFaults() {
    forEachSeed(
        USUAL_SEEDS,
        Plan::random,
        (simulation, seed) -> {
          simulation.run();
          if (seed % 8 == 0) {
            simulation.checkLiveness();
          }
        });
  }

  /** Calls that waited in the sockets of a stopped Redis do nothing once it goes on. */
  @Test
  void noWindow_exceedsTheLimit_whenRedisIsStopped() {
    forEachSeed(
        USUAL_SEEDS / 5,
        seed -> Plan.stops(seed, false, 1),
        (simulation, seed) -> simulation.run());
  }

  /** More absences than Redis remembers one by one. */
  @Test
  void noWindow_exceedsTheLimit_whenRedisFlaps() {
    forEachSeed(
        USUAL_SEEDS / 20,
        seed -> Plan.stops(seed, true, 6),
        (simulation, seed) -> simulation.run());
  }

  @Test
  void sameSeed_givesTheSameRun() {
    for (long seed : List.of(3L, 7L, 18L, 29L)) {
      assertThat(digest(seed)).isEqualTo(digest(seed));
    }
  }

  private static long digest(long seed) {
    OutageSimulation simulation = simulation(seed, Plan.random(seed));
    simulation.run();
    return simulation.digest();
  }

  @Test
  void silentMember_neverStopsTheOthers() {
    Seeds.chosen(USUAL_SEEDS).limit(USUAL_SEEDS / 10).forEach(OutageSimulationTest::silence);
  }

  /** Some nodes fall silent at 4 s; the others get their part of the rate in every second. */
  private static void silence(long seed) {
    Random random = new Random(seed);
    int nodes = 2 + random.nextInt(4);
    Set<String> silent = new TreeSet<>();
    for (int i = 1 + random.nextInt(nodes - 1); i > 0; i--) {
      silent.add("node" + random.nextInt(nodes));
    }
    List<Consumer<SimulatedMember>> ways =
        List.of(
            SimulatedMember::kill,
            node -> node.wire().cut(true),
            node -> node.pause(60 * SECOND, true));
    Consumer<SimulatedMember> way = ways.get(random.nextInt(ways.size()));
    Target target = Target.balanced(Target.Kind.BUCKET, "limit", 40, 200);
    OutageSimulation simulation =
        simulation(
            seed,
            plan(
                nodes,
                target,
                new Fault(
                    4 * SECOND,
                    "silence of " + silent,
                    each ->
                        each.nodes().stream()
                            .filter(node -> silent.contains(node.name()))
                            .forEach(way))));
    simulation.load().saturate();
    simulation.begin();
    simulation.runUntil(16 * SECOND + SECOND / 4);
    double due = 200 * (1 - silent.size() / (double) nodes);
    for (long from = 4 * SECOND; from <= 15 * SECOND; from += SECOND / 5) {
      assertThat(
              simulation
                  .ledger(target)
                  .between(from, from + SECOND, node -> !silent.contains(node)))
          .as("seed %d: tokens of %s without %s from %d ms", seed, nodes, silent, from / 1_000_000)
          .isGreaterThanOrEqualTo(0.95 * due - 4);
    }
    for (SimulatedNode node : simulation.nodes()) {
      if (!silent.contains(node.name())) {
        MembersView view = node.connection().view();
        assertThat(view.members()).as("members after 12 s").isEqualTo(nodes - silent.size());
        assertThat(view.absent()).as("absent parts after 12 s").isZero();
      }
    }
  }

  @Test
  void nodesThatAreCutOffForLong_grantTheirShareOnceMore() {
    Seeds.chosen(USUAL_SEEDS).limit(USUAL_SEEDS / 50).forEach(OutageSimulationTest::cutOff);
  }

  /** Some nodes are cut off for so long that the others get their part as well. */
  private static void cutOff(long seed) {
    Random random = new Random(seed);
    int nodes = 2 + random.nextInt(4);
    int cut = 1 + random.nextInt(nodes - 1);
    Target target = Target.balanced(Target.Kind.BUCKET, "limit", 40, 200);
    OutageSimulation simulation =
        simulation(
            seed,
            plan(
                nodes,
                target,
                new Fault(
                    4 * SECOND,
                    "cut of " + cut,
                    each -> each.nodes().subList(0, cut).forEach(node -> node.wire().cut(true))),
                new Fault(
                    24 * SECOND,
                    "end of the cut",
                    each -> each.nodes().subList(0, cut).forEach(node -> node.wire().cut(false)))));
    simulation.load().saturate();
    simulation.begin();
    simulation.runUntil(28 * SECOND);
    simulation.checkWindows();
    double part = (double) cut / nodes;
    assertThat(simulation.excessOf(target, 1))
        .as("seed %d: tokens of %d of %d nodes in 8 s", seed, cut, nodes)
        .isGreaterThan(part * 200 * 5);
    assertThat(simulation.excessOf(target, 1 + part)).isLessThanOrEqualTo(0);
  }

  private static Plan plan(int nodes, Target target, Fault... faults) {
    return new Plan(
        nodes,
        1e-4,
        new SimulatedNode.Settings(
            List.of(target), Duration.ofMillis(100), 1, TokenBlockConfig.DEFAULTS),
        false,
        List.of(faults),
        0);
  }

  private static void forEachSeed(
      int usual, LongFunction<Plan> plan, ObjLongConsumer<OutageSimulation> check) {
    Seeds.chosen(usual)
        .limit((long) MOST_SEEDS / USUAL_SEEDS * usual)
        .forEach(
            seed -> {
              OutageSimulation simulation = simulation(seed, plan.apply(seed));
              try {
                check.accept(simulation, seed);
              } catch (AssertionError | RuntimeException failure) {
                throw new AssertionError(
                    "seed %d fails, replay it by -Dsluice.seed=%d: %s%n%s"
                        .formatted(seed, seed, failure.getMessage(), simulation),
                    failure);
              } finally {
                simulation.log().forEach(System.out::println);
              }
            });
  }

  private static OutageSimulation simulation(long seed, Plan plan) {
    return new OutageSimulation(seed, plan, scripts, Long.getLong("sluice.seed") != null);
  }
}
