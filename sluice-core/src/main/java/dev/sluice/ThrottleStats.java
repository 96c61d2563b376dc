package dev.sluice;

/**
 * How one throttle key of a {@link FairScheduler} stands.
 *
 * @param key the throttle key
 * @param level tokens there, fractions included
 * @param ratePerSecond tokens that come back in a second
 * @param burst the most tokens it holds
 * @param waiters fairness keys (by set of throttle keys) that wait for it
 * @since 0.1
 */
public record ThrottleStats(
    String key, double level, double ratePerSecond, double burst, int waiters) {}
