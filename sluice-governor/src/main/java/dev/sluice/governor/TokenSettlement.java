package dev.sluice.governor;

/**
 * The result of settling a reservation.
 *
 * <p>A settlement charges at most the larger of the reservation and what one call of the model can
 * use ({@link ModelBudget#maxChargedTokens}); the rest of the report is {@code excessTokens}.
 *
 * @param model the model
 * @param tenant the tenant
 * @param requestedTokens the requested tokens
 * @param reservedTokens the granted tokens
 * @param actualTokens what was reported as used
 * @param refundedTokens what came back to the model: no more than what was still owed for it
 * @param overusedTokens what was used beyond the reservation, and charged on top
 * @param excessTokens the reported tokens beyond that, which are not charged
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
  /**
   * Creates a settlement from the change of the model's balance.
   *
   * @param model whose tokens
   * @param tenant whose turn it was
   * @param requested what was asked for
   * @param reserved what was granted
   * @param actual what was reported as used
   * @param back tokens that came back to the model; negative for those that were charged on top
   * @return the settlement
   */
  public static TokenSettlement of(
      String model, String tenant, long requested, long reserved, long actual, long back) {
    long overused = Math.max(0, -back);
    return new TokenSettlement(
        model,
        tenant,
        requested,
        reserved,
        actual,
        Math.max(0, back),
        overused,
        Math.max(0, actual - reserved - overused));
  }

  /**
   * Returns what was charged, without counting refunds that came too late.
   *
   * @return the reported usage less its excess
   */
  public long chargedTokens() {
    return actualTokens - excessTokens;
  }
}
