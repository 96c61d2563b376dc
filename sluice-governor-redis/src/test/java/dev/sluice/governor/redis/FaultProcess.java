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

/** A node of a fleet in a process of its own, with the default timeout of a server. */
final class FaultProcess {
  static final int NODES = 3;
  static final Duration IDLE_TIMEOUT = Duration.ofSeconds(3);

  /** Longer than a run, so that leaked slots show. */
  static final Duration RESERVATION_TIMEOUT = Duration.ofMinutes(10);

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
        .open(BudgetLoad.config(RESERVATION_TIMEOUT, IDLE_TIMEOUT), listener);
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

  /** Also logs slow calls. */
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
