package dev.sluice.governor;

import static dev.sluice.governor.RestartTest.P0;
import static dev.sluice.governor.RestartTest.P1;
import static dev.sluice.governor.RestartTest.status;
import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random lives of a store that crashes at any moment: no window exceeds the limit, and no
 * reservation is lost.
 */
@Tag("any-jdk")
class RandomRestartTest {
  private static final int LIVES = Integer.getInteger("sluice.seeds", 500) / 50;

  @TempDir private Path temp;
  private int images;

  /** A life with crashes, and what was granted in it. */
  private final class Life {
    final Random random;
    VirtualTimer timer = new VirtualTimer(SECOND);
    Path directory;
    BudgetStore store;
    final List<Long> times = new ArrayList<>();
    final List<Long> nets = new ArrayList<>();
    final Map<String, Integer> open = new HashMap<>();
    int crashes;

    Life(long seed) {
      random = new Random(seed);
      directory = temp.resolve("life" + seed);
      store = RestartTest.open(directory, timer);
    }

    void run() {
      for (int step = 0; step < 150; step++) {
        switch (random.nextInt(12)) {
          case 0, 1, 2, 3, 4 -> ask();
          case 5, 6, 7 -> settle();
          case 8 -> restart();
          default -> timer.advance((long) (random.nextDouble() * 8 * SECOND));
        }
      }
      store.close();
    }

    private void ask() {
      TokenRequest request =
          TokenRequest.of("m", 1 + random.nextInt(99_999))
              .withPriorityClass(random.nextBoolean() ? P0 : P1)
              .withTenant(random.nextBoolean() ? "t" : "other");
      if (store.tryAcquire(request).join().orElse(null) instanceof TokenDecision.Granted granted) {
        open.put(granted.reservation(), times.size());
        times.add(timer.nanoTime());
        nets.add(granted.tokens());
      }
    }

    private void settle() {
      if (!open.isEmpty()) {
        String id = open.keySet().iterator().next();
        int index = open.remove(id);
        TokenSettlement settled =
            store.settle(id, random.nextInt(nets.get(index).intValue() + 1)).join().orElseThrow();
        nets.set(index, nets.get(index) - settled.refundedTokens());
      }
    }

    private void restart() {
      final GovernorStatus.Model before = status(store);
      Path image = RestartTest.crash(directory, temp.resolve("image" + images++));
      store.close();
      timer = new VirtualTimer(timer.nanoTime());
      directory = image;
      store = RestartTest.open(directory, timer);
      crashes++;
      assertThat(status(store).running()).isEqualTo(before.running());
      // A part of a token may be lost with each restart.
      assertThat(status(store).available())
          .isBetween(before.available() - crashes - 1, before.available());
    }

    void requireEveryWindow() {
      for (int from = 0; from < times.size(); from++) {
        long sum = 0;
        for (int to = from; to < times.size(); to++) {
          sum += nets.get(to);
          double accrued = 240_000.0 * (times.get(to) - times.get(from)) / MINUTE;
          assertThat((double) sum).isLessThanOrEqualTo(300_000 + accrued + 1e-6);
        }
      }
    }
  }

  @Test
  void crashesAtAnyMoment_keepTheLimit_andEveryReservation() {
    int crashes = 0;
    for (long seed = 0; seed < Math.max(5, LIVES); seed++) {
      Life life = new Life(seed);
      try {
        life.run();
        life.requireEveryWindow();
      } catch (AssertionError | RuntimeException failure) {
        throw new AssertionError("seed " + seed, failure);
      }
      crashes += life.crashes;
    }
    assertThat(crashes).isGreaterThan(20);
  }
}
