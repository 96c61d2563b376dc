package dev.sluice.internal.bucket;

import dev.sluice.Decision;

/** The decisions a bucket makes. */
public final class CellDecisions {
  private CellDecisions() {}

  public record Grant(long remaining) implements Decision.Granted {}

  public record Denial(long retryAfterNanos) implements Decision.Denied {}

  public record Depletion(long missing) implements Decision.Depleted {}

  public record Impossibility(long capacity) implements Decision.Impossible {}

  /** What {@code outcome} of taking {@code tokens} from a bucket on {@code axis} means. */
  public static Decision of(EpochScale axis, long outcome, long tokens, long nowNanos) {
    if (outcome >= 0) {
      return new Grant(axis.availableAt(outcome, nowNanos));
    }
    UnitScale scale = axis.scale();
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
