package dev.sluice.governor.redis.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.properties.Seeds;
import dev.sluice.redis.simulation.RedisScripts;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Governors of a fleet under faults of Redis, of the network and of nodes, in virtual time.
 *
 * <p>{@code -Dsluice.seeds=N} runs N seeds, at most 2,000, and {@code -Dsluice.seeds.first=S}
 * begins at that one; {@code -Dsluice.seed=S} runs that one and prints what happened.
 */
class GovernorOutageSimulationTest {
  private static final int USUAL_SEEDS = 200;
  private static final int MOST_SEEDS = 2_000;
  private static final int LIVENESS_EVERY = 4;
  private static final int EXCERPT_LINES = 60;
  private static final int EXCERPT_WIDTH = 260;
  private static final Pattern SHORT_ID = Pattern.compile("#\\d+");

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
  void everyPromise_isKept_underAnyFaults() {
    Map<String, List<Long>> seedsByKind = new TreeMap<>();
    List<Long> failing = new ArrayList<>();
    Seeds.chosen(USUAL_SEEDS)
        .limit(MOST_SEEDS)
        .forEach(
            seed -> {
              List<String> failures = run(seed, false).failures();
              if (!failures.isEmpty()) {
                failing.add(seed);
                failures.stream()
                    .map(GovernorSimulation::kindOf)
                    .distinct()
                    .forEach(
                        kind ->
                            seedsByKind.computeIfAbsent(kind, k -> new ArrayList<>()).add(seed));
              }
            });
    if (Long.getLong("sluice.seed") != null) {
      run(Long.getLong("sluice.seed"), true).log().forEach(System.out::println);
    }
    if (!failing.isEmpty()) {
      throw new AssertionError(
          "%d seeds fail: %s%n%s".formatted(failing.size(), seedsByKind, report(failing.get(0))));
    }
  }

  /**
   * Requests are delayed on a connection that breaks, and arrive after the calls on the next one
   * that undo them.
   */
  @Test
  void requestThatIsOvertakenByItsUndo_holdsNoSlot() {
    assertThat(run(728, false).failures()).isEmpty();
  }

  private static GovernorSimulation run(long seed, boolean verbose) {
    GovernorSimulation simulation =
        new GovernorSimulation(seed, GovernorPlan.random(seed), scripts, verbose);
    try {
      simulation.run();
      if (seed % LIVENESS_EVERY == 0) {
        simulation.checkLiveness();
      }
    } catch (RuntimeException mistake) {
      simulation.fail("ERROR " + mistake);
    }
    return simulation;
  }

  /** Returns what a seed does wrong, and the lines of its log about that. */
  private static String report(long seed) {
    GovernorSimulation simulation = run(seed, true);
    Set<String> ids = new HashSet<>();
    simulation.failures().stream()
        .limit(1)
        .forEach(failure -> SHORT_ID.matcher(failure).results().forEach(id -> ids.add(id.group())));
    StringBuilder text = new StringBuilder();
    text.append("seed %d fails, replay it by -Dsluice.seed=%d:%n".formatted(seed, seed));
    simulation.failures().forEach(each -> text.append("  ").append(each).append('\n'));
    text.append(simulation);
    simulation.log().stream()
        .filter(line -> isAbout(line, ids))
        .limit(EXCERPT_LINES)
        .map(line -> line.substring(0, Math.min(line.length(), EXCERPT_WIDTH)))
        .forEach(line -> text.append("  ").append(line).append('\n'));
    return text.toString();
  }

  private static boolean isAbout(String line, Set<String> ids) {
    Matcher each = SHORT_ID.matcher(line);
    while (each.find()) {
      if (ids.contains(each.group())) {
        return !line.contains(" tick ") || line.contains("[g, " + each.group());
      }
    }
    return false;
  }

  @Test
  void sameSeed_givesTheSameRun() {
    for (long seed : List.of(3L, 7L, 18L, 29L)) {
      // Ids are random, so lists of them have any order; the times of all events are the same.
      assertThat(run(seed, false).digest()).isEqualTo(run(seed, false).digest());
    }
  }
}
