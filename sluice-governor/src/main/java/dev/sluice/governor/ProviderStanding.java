package dev.sluice.governor;

/**
 * What a model's provider made of the budget.
 *
 * @param factor of the configured rate and burst that is in force
 * @param driftTokens ours less theirs, when the provider last said how many it has left
 * @param throttled how often it answered that there were too many
 * @since 0.1
 */
public record ProviderStanding(double factor, long driftTokens, long throttled) {
  /** Before anything was heard of it. */
  public static final ProviderStanding UNHEARD = new ProviderStanding(1, 0, 0);
}
