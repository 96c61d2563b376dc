package dev.sluice.redis;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Grants of which only is known that they were made between two times. A window surely has those
 * that began and ended in it: where these break the promise of a limit it is broken, however slow
 * the threads were.
 */
final class SureGrants {
  private final List<Grant> grants = new ArrayList<>();

  private record Grant(long from, long to, long tokens) {}

  synchronized void record(long from, long to, long tokens) {
    grants.add(new Grant(from, to, tokens));
  }

  synchronized long total() {
    return grants.stream().mapToLong(Grant::tokens).sum();
  }

  /** By how many tokens the worst window has more than the limit allows; negative if it has not. */
  synchronized double maxExcess(long capacity, double tokensPerUnit) {
    List<Grant> byEnd = new ArrayList<>(grants);
    byEnd.sort(Comparator.comparingLong(Grant::to));
    double worst = -capacity;
    for (Grant first : byEnd) {
      long sum = 0;
      for (Grant last : byEnd) {
        if (last.from() >= first.from()) {
          sum += last.tokens();
          double allowed = capacity + tokensPerUnit * (last.to() - first.from());
          worst = Math.max(worst, sum - allowed);
        }
      }
    }
    return worst;
  }

  /** The most tokens that were surely granted in one period of a grid from 0. */
  synchronized long mostInPeriod(long period) {
    return grants.stream()
        .filter(grant -> grant.from() / period == grant.to() / period)
        .collect(
            Collectors.groupingBy(
                grant -> grant.from() / period, Collectors.summingLong(Grant::tokens)))
        .values()
        .stream()
        .mapToLong(Long::longValue)
        .max()
        .orElse(0);
  }
}
