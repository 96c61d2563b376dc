package dev.sluice;

/** The decisions a throttle makes. */
public final class ThrottleDecisions {
  public static final Grant GRANT = new Grant();

  private ThrottleDecisions() {}

  record Grant() implements ThrottleDecision.Granted {}

  public record Denial(String bindingKey, long retryAfterNanos)
      implements ThrottleDecision.Denied {}

  public record Depletion(String bindingKey) implements ThrottleDecision.Depleted {}

  public record Impossibility(String bindingKey, double burst)
      implements ThrottleDecision.Impossible {}
}
