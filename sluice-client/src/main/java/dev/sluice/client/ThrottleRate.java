package dev.sluice.client;

/**
 * The rate at which queues deliver messages with a throttle key. Goes with {@link
 * AdminClient#throttles} when queues and callers share one set of limits.
 *
 * @param key the throttle key
 * @param ratePerSecond tokens per second
 * @param burst the most tokens at once
 * @param tokens available tokens, fractions included
 * @since 0.1
 */
public record ThrottleRate(String key, double ratePerSecond, double burst, double tokens) {}
