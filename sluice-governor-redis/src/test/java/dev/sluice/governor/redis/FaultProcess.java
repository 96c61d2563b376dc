package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.redis.OutageListener;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.load.BudgetLog;
import dev.sluice.testkit.load.BudgetNode;
import dev.sluice.testkit.load.SlowCalls;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** A node of a fleet in a process of its own, with the time-out that a server has by default. */
final class FaultProcess {
  static final int NODES = 3;
  static final Duration PATIENCE = Duration.ofSeconds(3);

  /** Longer than a run: a slot that nobody frees shows. */
  static final Duration LIFE = Duration.ofMinutes(10);

  private FaultProcess() {}

  static BudgetStore open(String url, BudgetListener listener) {
    return open(url, listener, OutageListener.NONE);
  }

  private static BudgetStore open(String url, BudgetListener listener, OutageListener outages) {
    return RedisBudgets.builder()
        .url(url)
        .outageListener(outages)
        .expectedNodes(NODES + 1)
        .build()
        .open(BudgetLoad.config(LIFE, PATIENCE), listener);
  }

  private static BudgetStore openLogged(String url, BudgetLog log) {
    OutageListener outages =
        new OutageListener() {
          @Override
          public void outageStarted(String cause, double share) {
            log.outageDeclared(cause);
          }

          @Override
          public void outageEnded(Duration away, long granted) {
            log.outageEnded();
          }
        };
    return open(url, log, outages);
  }

  /** The same, which also logs slow calls. */
  static final class Timed {
    private Timed() {}

    public static void main(String[] args) throws IOException {
      BudgetNode.run((url, log) -> SlowCalls.logged(openLogged(url, log), log), List.of(args));
    }
  }

  public static void main(String[] args) throws IOException {
    BudgetNode.run(FaultProcess::openLogged, List.of(args));
  }
}
