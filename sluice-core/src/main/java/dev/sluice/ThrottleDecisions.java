package dev.sluice;

/** The decisions a throttle makes. */
final class ThrottleDecisions {
  static final Grant GRANT = new Grant();

  private ThrottleDecisions() {}

  record Grant() implements ThrottleDecision.Granted {}

  record Denial(String bindingKey, long retryAfterNanos) implements ThrottleDecision.Denied {}

  record Depletion(String bindingKey) implements ThrottleDecision.Depleted {}

  record Impossibility(String bindingKey, double burst) implements ThrottleDecision.Impossible {}
}
