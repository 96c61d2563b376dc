package dev.sluice;

import java.util.OptionalLong;

/**
 * How one throttle key of a {@link FairScheduler} stands.
 *
 * @param key the throttle key
 * @param level tokens there, fractions included
 * @param ratePerSecond tokens that come back in a second
 * @param burst the most tokens it holds
 * @param waiters fairness keys (by set of throttle keys) that wait for it
 * @param taken tokens that items took of it so far
 * @param untilNanos when it lets somebody go; empty if time alone does not do it, or nobody waits
 * @since 0.1
 */
public record ThrottleStats(
    String key,
    double level,
    double ratePerSecond,
    double burst,
    int waiters,
    long taken,
    OptionalLong untilNanos) {

  /**
   * A fairness key that waits for a throttle key.
   *
   * @param queue the queue of its items
   * @param key the fairness key
   * @param items how many of them wait for it
   */
  public record Waiter(String queue, String key, int items) {}
}
