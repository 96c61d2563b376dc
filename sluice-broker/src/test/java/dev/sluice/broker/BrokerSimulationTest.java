package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The state machine under crashes, with every promise checked.
 *
 * <p>{@code -Dsluice.seeds=N} runs N seeds, {@code ./test --nightly} 10,000, {@code
 * -Dsluice.seed=S} that one.
 */
@Tag("any-jdk")
class BrokerSimulationTest {
  private static final int STEPS = 400;

  @Test
  void everySeed_keepsEveryGuarantee() {
    long only = Long.getLong("sluice.seed", -1);
    long seeds = Long.getLong("sluice.seeds", 250);
    LongStream chosen = only < 0 ? LongStream.range(0, seeds) : LongStream.of(only);
    long[] deliveries = {0};
    chosen.forEach(seed -> deliveries[0] += run(seed));
    assertThat(deliveries[0]).isPositive();
  }

  private static int run(long seed) {
    Simulation simulation = null;
    try {
      simulation = new Simulation(seed);
      simulation.run(STEPS);
      return simulation.deliveries();
    } catch (AssertionError | RuntimeException failure) {
      if (simulation != null && Long.getLong("sluice.seed") != null) {
        simulation.story().forEach(System.out::println);
      }
      throw new AssertionError(
          "seed " + seed + " fails; run it alone with -Dsluice.seed=" + seed, failure);
    }
  }
}
