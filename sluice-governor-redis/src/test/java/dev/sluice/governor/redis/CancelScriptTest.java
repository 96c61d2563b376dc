package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Cancellations of a grant at another node than the one that made it hold no slot afterwards. */
final class CancelScriptTest {
  private static final ModelBudget BUDGET =
      SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(2).build();
  private static final String ONE = "1".repeat(16);

  /** Half of the fleet is absent from the third microsecond on. */
  private static final String ABSENT = "3:360360";

  @AutoClose private final RedisServer redis = RedisServer.start();
  private final TimedScripts scripts = new TimedScripts(redis);

  @BeforeEach
  void configure() {
    scripts.run(
        "configure",
        1,
        TimedScripts.configuration("sonnet", BUDGET, WaitingListConfig.builder().build()));
  }

  private void ask(String id) {
    scripts.run(ONE, "request", 2, List.of(id, "queue", "", OutageRig.P1, "5", "5", "0", "", ""));
  }

  private long running(long micros) {
    return (Long) scripts.run(ONE, "poll", micros, List.of("status")).get(1);
  }

  /** The share of an absent node grants a ticket that waits in Redis, where it is canceled. */
  @Test
  void ticketThatAShareHasGranted_canceledElsewhereBeforeTheReport_holdsNoSlot() {
    queueAwaited();
    assertThat(scripts.runWith(ABSENT, "ticket", 4, List.of("cancel", "t"))).isEqualTo(List.of(1L));
    assertReportedGrantHasEnded();
  }

  /** The node that awaits it is cut off, and does not count as absent yet. */
  @Test
  void ticketThatAShareWillGrant_canceledElsewhereBefore_holdsNoSlot() {
    queueAwaited();
    assertThat(scripts.run("ticket", 4, List.of("cancel", "t"))).isEqualTo(List.of(1L));
    assertReportedGrantHasEnded();
  }

  private void queueAwaited() {
    ask("a");
    ask("b");
    ask("t");
    scripts.run(ONE, "ticket", 3, List.of("await", "t", "1"));
  }

  private void assertReportedGrantHasEnded() {
    List<String> report =
        List.of("1", "0", "0", "1", "t", "5", "5", OutageRig.P1, "", "", "ticket", "", "0", "0");
    assertThat(scripts.run(ONE, "report", 5, report)).isEqualTo(List.of(1L, "t"));
    assertThat(running(6)).isEqualTo(2);
  }

  /** Redis has lost the ticket of a grant, and a node has restored the grant. */
  @Test
  void restoredGrantWithoutTicket_canceledElsewhere_holdsNoSlot() {
    scripts.run(ONE, "restore_grants", 2, List.of("x", "5", "5", OutageRig.P1, "", ""));
    assertThat(running(3)).isEqualTo(1);
    assertThat(scripts.run("ticket", 4, List.of("cancel", "x"))).isEqualTo(List.of(1L));
    assertThat(running(5)).isZero();
  }
}
