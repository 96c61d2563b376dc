package dev.sluice;

import java.util.OptionalLong;

/**
 * How one throttle key of a {@link FairScheduler} stands.
 *
 * @param name the throttle key
 * @param level tokens there, fractions included
 * @param ratePerSecond tokens that come back in a second
 * @param burst the most tokens it holds
 * @param waiters fairness keys (by set of throttle keys) that wait for it
 * @param taken tokens that items took of it so far; never decreases: after a return, as many
 *     further tokens are not counted
 * @param untilNanos when it lets somebody go; empty if time alone does not do it, or nobody waits
 * @param impossibleCost tokens that the next item of somebody asks for whom no time lets go: they
 *     are more than the burst, or nothing comes back; empty if there is none
 * @since 0.1
 */
public record LimitStats(
    String name,
    double level,
    double ratePerSecond,
    double burst,
    int waiters,
    long taken,
    OptionalLong untilNanos,
    OptionalLong impossibleCost) {

  /**
   * A fairness key that waits for a throttle key.
   *
   * @param queue the queue of its items
   * @param fairnessKey the fairness key
   * @param items how many of them wait for it
   * @param tokens what they ask of it together; of very many items, as the first ones do
   * @param nextTokens what the next of them asks for
   */
  public record Waiter(String queue, String fairnessKey, int items, long tokens, long nextTokens) {}
}
