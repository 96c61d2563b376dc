package dev.sluice.governor;

/**
 * What became of a reservation.
 *
 * @param model whose tokens
 * @param tenant whose turn it was
 * @param requestedTokens what was asked for
 * @param reservedTokens what was granted
 * @param actualTokens what was used
 * @param refundedTokens what came back to the model: no more than what was still owed for it
 * @param overusedTokens what was used beyond the reservation, and charged on top
 * @since 0.1
 */
public record Settlement(
    String model,
    String tenant,
    long requestedTokens,
    long reservedTokens,
    long actualTokens,
    long refundedTokens,
    long overusedTokens) {}
