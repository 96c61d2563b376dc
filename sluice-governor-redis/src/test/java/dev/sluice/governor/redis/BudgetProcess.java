package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetNode;
import java.io.IOException;
import java.util.List;

/** A node of a fleet in a process of its own. */
final class BudgetProcess {
  /** The number that tests start, in case one starts without Redis on a busy machine. */
  private static final int NODES = 4;

  private BudgetProcess() {}

  static BudgetStore open(String url, BudgetListener listener) {
    return RedisBudgets.builder()
        .url(url)
        .timeout(BudgetNode.PATIENCE)
        .expectedNodes(NODES)
        .build()
        .open(BudgetLoad.config(BudgetNode.LIFE, BudgetNode.PATIENCE), listener);
  }

  public static void main(String[] args) throws IOException {
    BudgetNode.run(BudgetProcess::open, List.of(args));
  }
}
