package dev.sluice.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What is granted of a limit that callers do reach: how much of it, and whether any window, from
 * each millisecond to each other, has more than capacity plus rate times time.
 */
final class SharedBounds {
  private static final long PER_SECOND = 1_000;
  private static final int CALLERS = 16;

  /** For leases, which are blocks only where the limit is far larger than one. */
  private static final long LEASED_PER_SECOND = 200_000;

  private static final int NODES = 2;
  private static final int CALLERS_PER_NODE = 4;

  /** Until the burst is gone. */
  private static final Duration LEAD_IN = Duration.ofMillis(500);

  private final String url;
  private final Duration measured;

  SharedBounds(String url, Duration measured) {
    this.url = url;
    this.measured = measured;
  }

  /** Fails if one of ours grants more than it may. */
  void measure(Report report) throws Exception {
    report.line("limit of %,d a second, %d callers", PER_SECOND, CALLERS);
    for (SharedKind kind : SharedKind.values()) {
      if (kind != SharedKind.CEILING) {
        measure(report, kind, "saturated", PER_SECOND, 1, CALLERS);
      }
    }
    report.line("");
    report.line(
        "limit of %,d a second, %d clients with %d callers each",
        LEASED_PER_SECOND, NODES, CALLERS_PER_NODE);
    measure(report, SharedKind.LEASED, "bound", LEASED_PER_SECOND, NODES, CALLERS_PER_NODE);
    report.line("");
  }

  private void measure(
      Report report, SharedKind kind, String leg, long perSecond, int nodes, int callers)
      throws Exception {
    List<SharedLimiter> limiters = new ArrayList<>();
    try {
      List<SharedLoad.Call> calls = new ArrayList<>();
      for (int i = 0; i < nodes; i++) {
        SharedLimiter limiter = kind.open(url, perSecond);
        limiters.add(limiter);
        calls.addAll(SharedLoad.calls(callers, () -> limiter::tryConsume));
      }
      SharedLoad.Outcome outcome = SharedLoad.measureLogged(calls, LEAD_IN, measured);
      double excess = GrantLog.excess(outcome.logs(), perSecond, perSecond);
      report(report, kind.label() + "_" + leg, outcome, excess);
      requireNone(kind, leg, excess);
    } finally {
      limiters.forEach(SharedLimiter::close);
    }
  }

  private static void report(
      Report report, String name, SharedLoad.Outcome outcome, double excess) {
    report.line(
        "%-20s %,12.0f granted a second   %,8.1f above the bound in the worst window%s",
        name,
        outcome.perSecond(),
        excess,
        outcome.failed() == 0 ? "" : "   FAILED: " + outcome.failed() + ", " + outcome.failure());
    report.value(name + "_per_s", outcome.perSecond());
    report.value(name + "_excess", excess);
    report.value(name + "_failed", outcome.failed());
  }

  private static void requireNone(SharedKind kind, String leg, double excess) {
    boolean ours = kind == SharedKind.EXACT || kind == SharedKind.LEASED;
    if (ours && excess > 0) {
      throw new IllegalStateException(
          "more was granted than the limit allows: kind=%s, leg=%s, excess=%.1f"
              .formatted(kind, leg, excess));
    }
  }
}
