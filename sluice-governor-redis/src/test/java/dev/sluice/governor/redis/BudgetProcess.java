package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.testkit.BudgetLoad;
import dev.sluice.testkit.BudgetNode;
import java.io.IOException;
import java.util.List;

/** A node of a fleet in a process of its own. */
final class BudgetProcess {
  private BudgetProcess() {}

  static BudgetStore open(String url, BudgetListener listener) {
    return RedisBudgets.builder()
        .url(url)
        .timeout(BudgetNode.PATIENCE)
        .opener()
        .open(BudgetLoad.config(BudgetNode.LIFE, BudgetNode.PATIENCE), listener);
  }

  public static void main(String[] args) throws IOException {
    BudgetNode.run(BudgetProcess::open, List.of(args));
  }
}
