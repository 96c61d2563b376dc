package dev.sluice;

/** The decisions a bucket makes. */
final class Decisions {
  private Decisions() {}

  record Grant(long remaining) implements Decision.Granted {}

  record Denial(long retryAfterNanos) implements Decision.Denied {}

  record Depletion(long missing) implements Decision.Depleted {}

  record Impossibility(long capacity) implements Decision.Impossible {}

  /** What {@code outcome} of taking {@code tokens} from {@code cell} means to the caller. */
  static Decision of(Cell cell, long outcome, long tokens, long nowNanos) {
    if (outcome >= 0) {
      return new Grant(cell.availableAt(outcome, nowNanos));
    }
    if (tokens > cell.capacity) {
      return new Impossibility(cell.capacity);
    }
    long fullAt = ~outcome;
    if (!cell.scale.refills()) {
      return new Depletion(tokens - cell.availableAt(fullAt, nowNanos));
    }
    long grantableAt = fullAt + tokens * cell.unitsPerToken - cell.capacityUnits;
    return new Denial(cell.nanosUntil(grantableAt, nowNanos));
  }
}
