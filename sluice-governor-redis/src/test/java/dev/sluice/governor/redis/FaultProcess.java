package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.testkit.BudgetLoad;
import dev.sluice.testkit.BudgetNode;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** A node of a fleet in a process of its own, with the time-out that a server has by default. */
final class FaultProcess {
  static final int NODES = 3;
  static final Duration PATIENCE = Duration.ofSeconds(3);

  private FaultProcess() {}

  static BudgetStore open(String url, BudgetListener listener) {
    return RedisBudgets.builder()
        .url(url)
        .expectedNodes(NODES + 1)
        .opener()
        .open(BudgetLoad.config(BudgetNode.LIFE, PATIENCE), listener);
  }

  public static void main(String[] args) throws IOException {
    BudgetNode.run(FaultProcess::open, List.of(args));
  }
}
