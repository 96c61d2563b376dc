package dev.sluice.governor;

/**
 * What a model's desk has counted since it was opened.
 *
 * @param totalRequests all that asked
 * @param acceptedRequests granted at once
 * @param rejectedRequests put in line or refused
 * @param tokensConsumed granted, less what was given back
 * @param refillCount decisions that found new tokens
 * @since 0.1
 */
public record Counts(
    long totalRequests,
    long acceptedRequests,
    long rejectedRequests,
    long tokensConsumed,
    long refillCount) {}
