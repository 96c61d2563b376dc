package dev.sluice.redis;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What was granted, each within an interval of time, held against the promise of a limit: a grant
 * counts in a window if it was surely made in it. Safe for many threads.
 */
final class WindowLog {
  private final List<Grant> grants = new ArrayList<>();

  private record Grant(long earliest, long latest, long tokens) {}

  synchronized void record(long earliest, long latest, long tokens) {
    grants.add(new Grant(earliest, latest, tokens));
  }

  void record(FleetNode.Answer answer) {
    record(answer.earliest(), answer.latest(), 1);
  }

  synchronized int size() {
    return grants.size();
  }

  synchronized long first() {
    return grants.stream().mapToLong(Grant::earliest).min().orElse(0);
  }

  synchronized long last() {
    return grants.stream().mapToLong(Grant::latest).max().orElse(0);
  }

  /** By how many tokens the worst of all windows is above the promise, rounded up. */
  synchronized long maxExcess(long capacity, long tokensPerSecond) {
    List<Grant> byEnd = new ArrayList<>(grants);
    byEnd.sort(Comparator.comparingLong(Grant::latest));
    long worst = Long.MIN_VALUE;
    for (Grant first : byEnd) {
      long start = first.earliest();
      long tokens = 0;
      for (Grant each : byEnd) {
        if (each.earliest() >= start) {
          tokens += each.tokens();
          long micros = (tokens - capacity) * 1_000_000L;
          worst = Math.max(worst, micros - tokensPerSecond * (each.latest() - start));
        }
      }
    }
    return grants.isEmpty() ? -capacity : -Math.floorDiv(-worst, 1_000_000L);
  }
}
