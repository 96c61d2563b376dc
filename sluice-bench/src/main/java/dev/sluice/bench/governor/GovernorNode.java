package dev.sluice.bench.governor;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetNode;
import java.io.IOException;
import java.util.List;

/** A node of the governor's fleet in a process of its own. */
final class GovernorNode {
  private GovernorNode() {}

  static BudgetStore open(String url, BudgetListener listener) {
    return RedisBudgets.builder()
        .url(url)
        .timeout(BudgetNode.PATIENCE)
        .build()
        .open(BudgetLoad.config(BudgetNode.LIFE, BudgetNode.PATIENCE), listener);
  }

  public static void main(String[] args) throws IOException {
    BudgetNode.run(GovernorNode::open, List.of(args));
  }
}
