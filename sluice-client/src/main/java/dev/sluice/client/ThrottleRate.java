package dev.sluice.client;

/**
 * How fast messages with a throttle key are delivered, over all queues.
 *
 * @param key the throttle key
 * @param ratePerSecond tokens that come back each second
 * @param burst the most tokens there are at a time
 * @param tokens those there are now
 * @since 0.1
 */
public record ThrottleRate(String key, double ratePerSecond, double burst, double tokens) {}
