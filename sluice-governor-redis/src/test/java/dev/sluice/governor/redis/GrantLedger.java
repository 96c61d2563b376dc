package dev.sluice.governor.redis;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Grants as callers saw them, to be checked against a limit. Thread-safe. */
final class GrantLedger {
  private static final long SECOND = 1_000_000_000;

  private final Queue<Grant> grants = new ConcurrentLinkedQueue<>();

  /** A grant that was made at some time between two times. */
  private record Grant(long earliest, long latest, long tokens) {}

  void granted(long earliestNanos, long latestNanos, long tokens) {
    grants.add(new Grant(earliestNanos, latestNanos, tokens));
  }

  long tokens() {
    return grants.stream().mapToLong(Grant::tokens).sum();
  }

  /**
   * Returns by how many tokens the worst of all windows is above the limit; a grant counts in a
   * window if it was surely made in it.
   */
  long excess(long burst, long perSecond) {
    List<Grant> byEnd = new ArrayList<>(grants);
    byEnd.sort(Comparator.comparingLong(Grant::latest));
    long worst = Long.MIN_VALUE / 2;
    for (Grant first : byEnd) {
      long sum = 0;
      for (Grant each : byEnd) {
        if (each.earliest() - first.earliest() >= 0) {
          sum += each.tokens();
          long accrued = perSecond * (each.latest() - first.earliest());
          worst = Math.max(worst, sum * SECOND - accrued);
        }
      }
    }
    return -Math.floorDiv(-worst, SECOND) - burst;
  }
}
