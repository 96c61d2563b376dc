package dev.sluice.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.ServerMain;
import dev.sluice.testkit.ServerProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server process under a mixed load. After each round it is idle, and is measured: nothing may be
 * lost, and heap, memory, threads and files may not grow from round to round. {@code
 * -Dsluice.soak.seconds=N} sets how long the load lasts; {@code ./test --nightly} runs eight
 * minutes.
 */
@Tag("long")
@Tag("alone")
final class SoakTest {
  private static final int SECONDS = Integer.getInteger("sluice.soak.seconds", 20);

  /** The first one warms up: classes, caches and pools are filled. The second is the base. */
  private static final int ROUNDS = 6;

  private static final long MB = 1 << 20;
  private static final Path BUDGETS = Path.of("..", "examples", "governor", "token-budget.json");

  @TempDir private Path dir;

  @Test
  void serverUnderLoad_losesNothing_andDoesNotGrow() throws Exception {
    List<Footprint> rounds = new ArrayList<>();
    try (ServerProcess server =
        ServerMain.startGoverned(
            dir,
            BUDGETS,
            "-XX:TieredStopAtLevel=4",
            "-Xms192m",
            "-Xmx192m",
            "-XX:+AlwaysPreTouch")) {
      try (SoakLoad load = new SoakLoad(server)) {
        for (int i = 0; i < ROUNDS; i++) {
          load.round(Duration.ofSeconds(SECONDS).dividedBy(ROUNDS));
          rounds.add(Footprint.of(server.process()));
          System.out.printf(
              Locale.ROOT, "round %d: %,d messages, %s%n", i, load.confirmed(), rounds.get(i));
        }
        assertThat(load.failures()).isEmpty();
        assertThat(load.missing().stream()).isEmpty();
        assertThat(load.confirmed()).isPositive();
      }
      server.process().destroy();
      assertThat(server.exitCode()).isIn(0, 128 + 15);
    }
    assertDoesNotGrow(rounds.get(1), rounds.get(ROUNDS - 1));
    try (ConnectedServer again = new ConnectedServer(dir.resolve("data"))) {
      assertThat(again.client.queues()).allSatisfy(each -> assertThat(each.depth()).isZero());
    }
  }

  private static void assertDoesNotGrow(Footprint base, Footprint last) {
    assertThat(last.heapBytes()).as("heap").isLessThan(base.heapBytes() * 5 / 4 + 16 * MB);
    assertThat(last.residentBytes()).as("memory").isLessThan(base.residentBytes() + 128 * MB);
    assertThat(last.threads()).as("threads").isLessThanOrEqualTo(base.threads() + 16);
    assertThat(last.files()).as("open files").isLessThanOrEqualTo(base.files() + 64);
  }
}
