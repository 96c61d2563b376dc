package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A report whose answer was lost is sent again. */
@Tag("any-jdk")
final class RepeatedReportTest {
  private static final ModelBudget BUDGET = SeedBudget.budget(60_000, 1_000).build();
  private static final String ONE = "1".repeat(16);
  private static final String OTHER = "2".repeat(16);

  private final RedisServer redis = RedisServer.start();
  private final TimedScripts scripts = new TimedScripts(redis);

  @AfterEach
  void close() {
    redis.close();
  }

  /** A decided ticket, a decided key, two open grants, and a waiting ticket. */
  private static List<String> report() {
    List<String> arguments = new ArrayList<>(List.of("1", "1", "x", "1", "tenant", "old"));
    arguments.add("2");
    arguments.addAll(List.of("a", "5", "5", OutageRig.P1, "", "k", "", ""));
    arguments.addAll(List.of("b", "5", "5", OutageRig.P1, "", "", "", ""));
    arguments.add("1");
    arguments.addAll(List.of("w", "5", "5", OutageRig.P1, "", "", "0", "1", ""));
    arguments.add("0");
    return arguments;
  }

  private long running(long micros) {
    return (Long) scripts.run(ONE, "poll", micros, List.of("status")).get(1);
  }

  @Test
  void grantSettledElsewhere_isAnsweredAgain_andNotRestored() {
    scripts.run(
        "configure",
        1,
        TimedScripts.configuration("sonnet", BUDGET, WaitingListConfig.builder().build()));
    assertThat(scripts.run(ONE, "report", 2, report())).isEqualTo(List.of(1L));
    assertThat(scripts.run(OTHER, "settle", 3, List.of("settle", "a", "5", "elsewhere")))
        .isNotEmpty();
    long running = running(4);
    assertThat(scripts.run(ONE, "report", 5, report())).isEqualTo(List.of(0L, "a"));
    assertThat(running(6)).isEqualTo(running);
  }
}
