package dev.sluice;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The state of one limit of {@link Limits} or a {@link FairScheduler} at the time of the call.
 *
 * @param name the name of the limit
 * @param limit what it allows
 * @param level tokens in its bucket, fractions included
 * @param waiters fairness keys (by set of throttle keys) that wait for it
 * @param taken tokens that items took of it so far; never decreases: after tokens were returned, as
 *     many further ones are not counted. 0 for {@link Limits}, which do not count
 * @param nextGrantIn time until it grants a waiter; empty if time alone does not do it, or without
 *     waiters
 * @param impossibleCost tokens that the next item of a waiter needs and the limit can never
 *     provide: they exceed the burst, or nothing refills; empty without such a waiter
 * @since 0.1
 */
public record LimitStats(
    String name,
    Limit limit,
    double level,
    int waiters,
    long taken,
    Optional<Duration> nextGrantIn,
    OptionalLong impossibleCost) {

  /**
   * A fairness key that waits for a limit.
   *
   * @param queue the queue of its items
   * @param fairnessKey the fairness key
   * @param items how many of them wait for it
   * @param tokens what they need of it together; of very many items, as the first ones do
   * @param nextTokens what the next of them needs
   */
  public record Waiter(String queue, String fairnessKey, int items, long tokens, long nextTokens) {}
}
