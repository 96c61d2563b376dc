package dev.sluice.client;

/**
 * How much a key may take.
 *
 * @param key such as {@code provider:mail}, or a prefix and an asterisk such as {@code tenant:*}
 * @param ratePerSecond tokens that come back each second
 * @param burst the most tokens there are at a time
 * @since 0.1
 */
public record Limit(String key, double ratePerSecond, double burst) {}
