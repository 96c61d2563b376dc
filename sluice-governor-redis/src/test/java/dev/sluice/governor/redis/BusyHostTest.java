package dev.sluice.governor.redis;

import static dev.sluice.testkit.Await.during;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.load.BudgetFleet;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetRecord;
import dev.sluice.testkit.load.CpuCores;
import dev.sluice.testkit.redis.RedisServer;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A slow answer is not an outage: Redis has one core for itself, the nodes share the other with
 * three threads that never pause, and 310 requests arrive per second.
 *
 * <p>{@code -Dsluice.busy.seconds=300} runs it for longer.
 */
@Tag("any-jdk")
@Tag("long")
@Timeout(value = 900, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("alone")
final class BusyHostTest {
  private static final int SECONDS = Integer.getInteger("sluice.busy.seconds", 30);
  private static final int NODES = FaultProcess.NODES;
  private static final int REDIS_CORE = 0;
  private static final int NODES_CORE = 1;

  /** The load of a node offers 16 requests a second for each unit. */
  private static final double OVERLOAD = 310.0 / 16 / NODES;

  @TempDir private Path dir;

  @Test
  void nodesWithoutCpu_healthyRedis_noOutage() {
    try (RedisServer redis = RedisServer.start();
        BudgetStore watcher = FaultProcess.open(redis.uri(), BudgetListener.NONE);
        BudgetFleet fleet = new BudgetFleet(dir, FaultProcess.class, redis.uri())) {
      CpuCores.pin(redis.pid(), REDIS_CORE);
      for (int i = 0; i < NODES; i++) {
        fleet.addFaulty(redis.uri(), OVERLOAD);
      }
      fleet.pin(NODES_CORE);
      fleet.go(0);
      JavaProcess burner = CpuCores.burn(NODES_CORE, 3);
      during(Duration.ofSeconds(SECONDS));
      GovernorStatus atTheEnd = watcher.status().join();
      long end = redis.micros();
      burner.close();
      check(fleet.stop(), atTheEnd, end);
    }
  }

  private static void check(BudgetRecord record, GovernorStatus atTheEnd, long end) {
    System.out.printf(
        "busy host: %d grants in %d s, outages by node %s, failed %s%n",
        record.grants(), SECONDS, record.outages(), record.failures());
    assertThat(record.outages().values()).allMatch(outages -> outages <= 1);
    atTheEnd
        .models()
        .forEach(
            (model, status) -> {
              double utilization =
                  record.utilization(
                      model, status, BudgetLoad.PER_SECOND, BudgetLoad.PER_MINUTE, end);
              long excess = record.excess(model, BudgetLoad.PER_SECOND, BudgetLoad.PER_MINUTE);
              System.out.printf(
                  "busy host: %s utilization %.4f, excess %d%n", model, utilization, excess);
              assertThat(excess).as(model).isLessThanOrEqualTo(0);
              assertThat(utilization).as(model).isGreaterThanOrEqualTo(0.95);
            });
  }
}
