package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.BudgetFleet;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetNode;
import dev.sluice.testkit.load.BudgetRecord;
import dev.sluice.testkit.redis.RedisServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Four processes under ten times the load that their budgets allow, of which one is killed
 * half-way.
 *
 * <p>{@code -Dsluice.fleet.seconds=600} runs it for longer.
 */
@Tag("any-jdk")
@Tag("alone")
@Timeout(value = 900, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class BudgetFleetTest {
  private static final int PROCESSES = 4;
  private static final int SECONDS = Integer.getInteger("sluice.fleet.seconds", 6);

  /** One process is dead for half of the time. */
  private static final double OVERLOAD = 12;

  private static final int VICTIM = 3;

  /**
   * In a short run unused tokens at its end count, and a busy machine does not ask for all tokens.
   * In {@code ./test --nightly} the long run has the machine to itself.
   */
  private static final double UTILIZATION = SECONDS >= 60 ? 0.95 : 0.5;

  @TempDir private Path dir;

  @Test
  void processes_onOneBudget_noWindowHasMore() {
    try (RedisServer server = RedisServer.start();
        BudgetStore store = BudgetProcess.open(server.uri(), BudgetListener.NONE);
        BudgetFleet fleet = new BudgetFleet(dir, BudgetProcess.class, server.uri())) {
      for (int i = 0; i < PROCESSES; i++) {
        fleet.add(OVERLOAD / PROCESSES, i == VICTIM);
      }
      fleet.go(0);
      Await.during(Duration.ofSeconds(SECONDS).dividedBy(2));
      fleet.killVictims();
      Await.during(Duration.ofSeconds(SECONDS).dividedBy(2));
      GovernorStatus atTheEnd = store.status().join();
      long end = server.micros();
      check(fleet.stop(), atTheEnd, end);
      assertNoSlotIsInUse(store);
    }
  }

  private static void check(BudgetRecord record, GovernorStatus atTheEnd, long end) {
    System.out.printf(
        "fleet: %d grants, tickets that ended without %s%n", record.grants(), record.ends());
    for (String priority : List.of("P0_clinical", "P1_user", "P2_batch")) {
      System.out.printf(
          "fleet: %s waits p50 %.0f ms, p99 %.0f ms%n",
          priority,
          record.waitMillis(BudgetLoad.PLAIN, priority, 0.5),
          record.waitMillis(BudgetLoad.PLAIN, priority, 0.99));
    }
    atTheEnd.models().forEach((model, status) -> check(record, model, status, end));
    assertThat(record.wrongs()).isEmpty();
    // On a busy machine a call in a hundred may have no answer within its timeout.
    assertThat(record.failures().keySet()).allMatch(each -> each.endsWith("UnavailableException"));
    assertThat(record.failures().values()).allMatch(count -> count * 100 < record.grants());
    assertThat(record.ends())
        .containsKeys("TIMEOUT", "CANCELLED")
        .doesNotContainKeys("GONE", "ABANDONED");
    assertThat(record.waitMillis(BudgetLoad.PLAIN, "P0_clinical", 0.5))
        .isLessThan(record.waitMillis(BudgetLoad.PLAIN, "P1_user", 0.5));
  }

  private static void check(
      BudgetRecord record, String model, GovernorStatus.Model status, long end) {
    double utilization =
        record.utilization(model, status, BudgetLoad.PER_SECOND, BudgetLoad.PER_MINUTE, end);
    long excess = record.excess(model, BudgetLoad.PER_SECOND, BudgetLoad.PER_MINUTE);
    System.out.printf(
        "fleet %s: over_admission %d, utilization %.4f%n", model, Math.max(0, excess), utilization);
    assertThat(excess).isLessThanOrEqualTo(0);
    assertThat(utilization).isBetween(UTILIZATION, 1.0);
  }

  /** Neither by killed processes, nor by callers that never settled. */
  private static void assertNoSlotIsInUse(BudgetStore store) {
    Awaitility.await()
        .atMost(BudgetNode.LIFE.plus(BudgetNode.PATIENCE).plusSeconds(5))
        .untilAsserted(
            () ->
                assertThat(store.status().join().models().values())
                    .allSatisfy(
                        status -> {
                          assertThat(status.running()).isZero();
                          assertThat(status.queueLengths().values()).containsOnly(0);
                        }));
  }
}
