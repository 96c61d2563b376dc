package dev.sluice;

/** The decisions a bucket makes. */
final class Decisions {
  private Decisions() {}

  record Grant(long remaining) implements Decision.Granted {}

  record Denial(long retryAfterNanos) implements Decision.Denied {}

  record Depletion(long missing) implements Decision.Depleted {}

  record Impossibility(long capacity) implements Decision.Impossible {}

  /** What {@code outcome} of taking {@code tokens} from a bucket on {@code axis} means. */
  static Decision of(Axis axis, long outcome, long tokens, long nowNanos) {
    if (outcome >= 0) {
      return new Grant(axis.availableAt(outcome, nowNanos));
    }
    Scale scale = axis.scale();
    if (tokens > scale.capacity()) {
      return new Impossibility(scale.capacity());
    }
    long fullAt = ~outcome;
    if (!scale.refills()) {
      return new Depletion(tokens - axis.availableAt(fullAt, nowNanos));
    }
    long grantableAt = fullAt + scale.cost(tokens) - scale.capacityUnits();
    return new Denial(axis.nanosUntil(grantableAt, nowNanos));
  }
}
