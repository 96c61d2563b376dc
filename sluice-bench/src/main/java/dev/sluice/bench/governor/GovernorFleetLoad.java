package dev.sluice.bench.governor;

import dev.sluice.bench.measure.Report;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.testkit.load.BudgetFleet;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetRecord;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;

/**
 * Processes that ask for ten times what two budgets in Redis allow, of which one is killed half-way
 * and replaced: how much is used, and whether any window has more than it may.
 */
final class GovernorFleetLoad {
  /** One process is away for a while. */
  private static final double OVERLOAD = 11;

  private static final String[] CLASSES = {"P0_clinical", "P1_user", "P2_batch"};

  private final int processes;
  private final Duration time;
  private final Report report;

  GovernorFleetLoad(int processes, Duration time, Report report) {
    this.processes = processes;
    this.time = time;
    this.report = report;
  }

  /** Fails if more is granted than may be. */
  void measure(String url, Path folder) throws InterruptedException {
    double each = OVERLOAD / processes;
    try (BudgetStore store = GovernorNode.open(url, BudgetListener.NONE);
        BudgetFleet fleet = new BudgetFleet(folder, GovernorNode.class, url)) {
      for (int i = 0; i < processes; i++) {
        fleet.add(each, i == 0);
      }
      fleet.go(0);
      Thread.sleep(time.dividedBy(2).toMillis());
      fleet.killVictims();
      fleet.add(each, false);
      fleet.go(processes);
      Thread.sleep(time.dividedBy(2).toMillis());
      Map<String, GovernorStatus.Model> status = store.status().join().models();
      // Redis is on this machine, and has the same clock.
      long end = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
      tell(fleet.stop(), status, end);
    }
  }

  private void tell(BudgetRecord record, Map<String, GovernorStatus.Model> status, long end) {
    report.line("");
    report.line(
        "%d processes, 1 killed and replaced, ten times the load for %d s: %,d grants",
        processes, time.toSeconds(), record.grants());
    report.line("tickets that ended without a grant: %s", record.ends());
    double utilization = Double.MAX_VALUE;
    long excess = 0;
    for (Map.Entry<String, GovernorStatus.Model> model : status.entrySet()) {
      utilization =
          Math.min(
              utilization,
              record.utilization(
                  model.getKey(),
                  model.getValue(),
                  BudgetLoad.PER_SECOND,
                  BudgetLoad.PER_MINUTE,
                  end));
      excess =
          Math.max(
              excess, record.excess(model.getKey(), BudgetLoad.PER_SECOND, BudgetLoad.PER_MINUTE));
      waits(record, model.getKey());
    }
    value("over_admission", (double) excess);
    value("utilization", utilization);
    value("p0_wait_p99_ms", record.waitMillis(BudgetLoad.PLAIN, CLASSES[0], 0.99));
    if (excess > 0 || !record.failures().isEmpty() || !record.wrongs().isEmpty()) {
      throw new IllegalStateException(
          "the fleet was granted more than it may be, or calls failed: excess=%d, failures=%s, wrong=%s"
              .formatted(excess, record.failures(), record.wrongs()));
    }
  }

  private void waits(BudgetRecord record, String model) {
    for (String priority : CLASSES) {
      report.line(
          "model %-8s %-12s waits p50 %,7.0f ms   p99 %,7.0f ms",
          model,
          priority,
          record.waitMillis(model, priority, 0.5),
          record.waitMillis(model, priority, 0.99));
    }
  }

  private void value(String name, double value) {
    report.line("%-32s %14.3f", name, value);
    report.value(name, value);
  }
}
