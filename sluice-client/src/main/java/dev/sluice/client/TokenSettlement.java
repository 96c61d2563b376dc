package dev.sluice.client;

/**
 * The result of settling a reservation.
 *
 * @param model the model
 * @param tenant the tenant of the request
 * @param requestedTokens requested tokens
 * @param reservedTokens granted tokens
 * @param actualTokens reported usage
 * @param refundedTokens tokens returned to the model: at most those still charged for it
 * @param overusedTokens tokens used beyond the reservation and charged in addition
 * @param excessTokens reported tokens beyond these bounds, which are not charged
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
