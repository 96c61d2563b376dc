package dev.sluice.redis.simulation;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Records grants with the real times at which they were decided, and finds windows with too many.
 * Shares no code with the classes that it checks.
 */
final class Ledger {
  private final List<Grant> grants = new ArrayList<>();

  /**
   * One grant.
   *
   * @param nanos the real time of the decision
   * @param tokens how many; of a node whose clock runs fast, so much less
   * @param redisNanos the time of Redis then
   * @param slackNanos by how much the node was wrong about the time of Redis
   * @param node the node whose caller has it
   */
  record Grant(long nanos, long redisNanos, double tokens, long slackNanos, String node) {}

  void add(Grant grant) {
    grants.add(grant);
  }

  /** Returns the tokens that some nodes were granted in a time. */
  double between(long fromNanos, long toNanos, Predicate<String> nodes) {
    return grants.stream()
        .filter(grant -> grant.nanos >= fromNanos && grant.nanos < toNanos)
        .filter(grant -> nodes.test(grant.node))
        .mapToDouble(Grant::tokens)
        .sum();
  }

  /** The window with the most tokens above {@code capacity + rate * length}. */
  record Worst(double excess, long fromNanos, long toNanos) {
    static final Worst NONE = new Worst(Double.NEGATIVE_INFINITY, 0, 0);
  }

  /** Returns the worst of all windows within a time. */
  Worst worstWindow(double capacity, double perNano, long fromNanos, long toNanos) {
    List<Grant> sorted = sorted(fromNanos, toNanos);
    double sum = 0;
    double least = Double.POSITIVE_INFINITY;
    long start = 0;
    Worst worst = Worst.NONE;
    for (Grant grant : sorted) {
      double before = sum - perNano * (grant.nanos - fromNanos);
      if (before < least) {
        least = before;
        start = grant.nanos;
      }
      sum += grant.tokens;
      double excess = sum - perNano * (grant.nanos - fromNanos) - least - capacity;
      if (excess > worst.excess) {
        worst = new Worst(excess, start, grant.nanos);
      }
    }
    return worst;
  }

  private List<Grant> sorted(long fromNanos, long toNanos) {
    return grants.stream()
        .filter(grant -> grant.nanos >= fromNanos && grant.nanos < toNanos)
        .sorted(Comparator.comparingLong(Grant::nanos))
        .toList();
  }

  /**
   * Returns the worst period of a grid. A grant that may belong to either of two periods, because
   * its node was wrong about the time of Redis, counts in none.
   */
  Worst worstPeriod(double capacity, long periodNanos, long fromNanos, long toNanos) {
    Map<Long, Double> sums = new HashMap<>();
    Map<Long, Long> starts = new HashMap<>();
    for (Grant grant : sorted(fromNanos, toNanos)) {
      long at = grant.redisNanos;
      long period = Math.floorDiv(at, periodNanos);
      if (period == Math.floorDiv(at - grant.slackNanos, periodNanos)
          && period == Math.floorDiv(at + grant.slackNanos, periodNanos)) {
        sums.merge(period, grant.tokens, Double::sum);
        starts.putIfAbsent(period, grant.nanos);
      }
    }
    Worst worst = Worst.NONE;
    for (Map.Entry<Long, Double> sum : sums.entrySet()) {
      if (sum.getValue() - capacity > worst.excess) {
        long start = starts.get(sum.getKey());
        worst = new Worst(sum.getValue() - capacity, start, start + periodNanos);
      }
    }
    return worst;
  }
}
