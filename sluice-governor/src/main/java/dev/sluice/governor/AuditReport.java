package dev.sluice.governor;

/**
 * What an independent count of the granted tokens says.
 *
 * @param admittedTokens in the last window, less what was given back
 * @param limitTokens the most that may be admitted in such a window
 * @param errorTokens by how much the worst window since the start was above the limit, over the
 *     whole fleet where a store counts it; 0 always
 * @param worstTokens the most in any window since the start
 * @param excessTokens what settlements reported and nobody was charged for, since the start
 * @since 0.1
 */
public record AuditReport(
    long admittedTokens, long limitTokens, long errorTokens, long worstTokens, long excessTokens) {
  /** Before anything was counted. */
  public static final AuditReport NONE = new AuditReport(0, 0, 0, 0, 0);

  /** Returns this with the larger excess: that of a fleet counts what one process cannot see. */
  public AuditReport orMore(AuditReport ofStore) {
    return new AuditReport(
        admittedTokens,
        limitTokens,
        Math.max(errorTokens, ofStore.errorTokens),
        worstTokens,
        excessTokens);
  }
}
