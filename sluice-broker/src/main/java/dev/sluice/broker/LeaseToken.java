package dev.sluice.broker;

/**
 * What a consumer shows to settle a message: only the present lease of a message can.
 *
 * @param epoch how often the broker's directory had been opened
 * @param number counts the leases since then
 * @since 0.1
 */
public record LeaseToken(int epoch, long number) {}
