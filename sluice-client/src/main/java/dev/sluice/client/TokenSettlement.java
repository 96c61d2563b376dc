package dev.sluice.client;

/**
 * What became of a reservation.
 *
 * @param model whose tokens
 * @param tenant whose turn it was
 * @param requestedTokens what was asked for
 * @param reservedTokens what was granted
 * @param actualTokens what was reported as used
 * @param refundedTokens what came back to the model: no more than what was still owed for it
 * @param overusedTokens what was used beyond the reservation, and charged on top
 * @param excessTokens what was reported beyond that, and charged to nobody
 * @since 0.1
 */
public record TokenSettlement(
    String model,
    String tenant,
    long requestedTokens,
    long reservedTokens,
    long actualTokens,
    long refundedTokens,
    long overusedTokens,
    long excessTokens) {
  static TokenSettlement of(dev.sluice.proto.v1.TokenSettlement wire) {
    return new TokenSettlement(
        wire.getModel(),
        wire.getTenant(),
        wire.getRequestedTokens(),
        wire.getReservedTokens(),
        wire.getActualTokens(),
        wire.getRefundedTokens(),
        wire.getOverusedTokens(),
        wire.getExcessTokens());
  }
}
