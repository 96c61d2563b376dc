package dev.sluice.bench.redis;

import dev.sluice.bench.measure.Report;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Grants of a limit that callers exhaust: how much of it is granted, and whether any window, from
 * each millisecond to each other, has more than capacity plus rate times time.
 */
final class SharedBounds {
  /** So many clients of one limit, with so many callers each. */
  private record Leg(String name, long perSecond, int clients, int callers) {
    static final Leg SATURATED = new Leg("saturated", 1_000, 1, 16);

    /** There are blocks to lease only where the limit is far larger than one. */
    static final Leg BOUND = new Leg("bound", 200_000, 2, 4);
  }

  /** Until the burst is used up, even where that takes long. */
  private static final Duration LEAD_IN = Duration.ofSeconds(1);

  private final String url;
  private final Duration measured;
  private final Report report;

  SharedBounds(String url, Duration measured, Report report) {
    this.url = url;
    this.measured = measured;
    this.report = report;
  }

  /** Fails if one of ours grants more than it may. */
  void measure() throws InterruptedException {
    head(Leg.SATURATED);
    for (SharedKind kind : SharedKind.values()) {
      if (kind != SharedKind.CEILING) {
        measure(kind, Leg.SATURATED);
      }
    }
    head(Leg.BOUND);
    measure(SharedKind.LEASED, Leg.BOUND);
  }

  private void measure(SharedKind kind, Leg leg) throws InterruptedException {
    List<SharedLimiter> limiters = new ArrayList<>();
    try {
      List<SharedLoad.Call> calls = new ArrayList<>();
      for (int i = 0; i < leg.clients(); i++) {
        SharedLimiter limiter = kind.open(url, leg.perSecond());
        limiters.add(limiter);
        calls.addAll(SharedLoad.calls(leg.callers(), () -> limiter::tryConsume));
      }
      SharedLoad.Outcome outcome = SharedLoad.measureLogged(calls, LEAD_IN, measured);
      double excess = GrantLog.excess(outcome.logs(), leg.perSecond(), leg.perSecond());
      row(kind.label() + "_" + leg.name(), outcome, excess);
      requireNone(kind, leg, excess);
    } finally {
      limiters.forEach(SharedLimiter::close);
    }
  }

  private void head(Leg leg) {
    report.line("");
    report.line(
        "limit and burst %,d a second, %d client(s) with %d callers each",
        leg.perSecond(), leg.clients(), leg.callers());
  }

  private void row(String name, SharedLoad.Outcome outcome, double excess) {
    System.err.printf(Locale.ROOT, "  %-32s %10.1f%n", name + "_per_s", outcome.perSecond());
    report.line(
        "%-20s %,10.0f granted a second   %,.1f above the bound in the worst window%s",
        name,
        outcome.perSecond(),
        excess,
        outcome.failed() == 0 ? "" : "   FAILED: " + outcome.failed() + ", " + outcome.failure());
    report.value(name + "_per_s", outcome.perSecond());
    report.value(name + "_excess", excess);
    report.value(name + "_failed", (double) outcome.failed());
  }

  private static void requireNone(SharedKind kind, Leg leg, double excess) {
    boolean ours = kind == SharedKind.EXACT || kind == SharedKind.LEASED;
    if (ours && excess > 0) {
      throw new IllegalStateException(
          "more was granted than the limit allows: kind=%s, leg=%s, excess=%.1f"
              .formatted(kind, leg.name(), excess));
    }
  }
}
