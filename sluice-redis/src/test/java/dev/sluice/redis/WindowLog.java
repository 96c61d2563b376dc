package dev.sluice.redis;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Records grants with the interval in which each was made, and checks them against a limit: a grant
 * counts in a window if it was certainly made in it. Thread-safe.
 */
final class WindowLog {
  private static final long SECOND = 1_000_000;

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
    if (grants.isEmpty()) {
      return -capacity;
    }
    List<Grant> byEnd = new ArrayList<>(grants);
    byEnd.sort(Comparator.comparingLong(Grant::latest));
    long[] earliest = byEnd.stream().mapToLong(Grant::earliest).toArray();
    long[] latest = byEnd.stream().mapToLong(Grant::latest).toArray();
    long[] tokens = byEnd.stream().mapToLong(Grant::tokens).toArray();
    long worst = Long.MIN_VALUE;
    for (long start : earliest) {
      long sum = 0;
      for (int i = 0; i < earliest.length; i++) {
        if (earliest[i] >= start) {
          sum += tokens[i];
          worst = Math.max(worst, sum * SECOND - tokensPerSecond * (latest[i] - start));
        }
      }
    }
    return -Math.floorDiv(-worst, SECOND) - capacity;
  }
}
