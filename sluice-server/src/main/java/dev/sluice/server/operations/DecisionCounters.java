package dev.sluice.server.operations;

import dev.sluice.Decision;
import java.util.EnumMap;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** Counts decisions by outcome. Thread-safe, and cheap compared with a decision. */
public final class DecisionCounters {
  /** A counter for each outcome; the map itself does not change. */
  private final EnumMap<Outcome, LongAdder> counts = new EnumMap<>(Outcome.class);

  DecisionCounters() {
    for (Outcome each : Outcome.values()) {
      counts.put(each, new LongAdder());
    }
  }

  /** The outcomes, one for each kind of {@link Decision}. */
  public enum Outcome {
    GRANTED,
    DENIED,
    DEPLETED,
    IMPOSSIBLE;

    static Outcome of(Decision decision) {
      if (decision.isGranted()) {
        return GRANTED;
      }
      if (decision instanceof Decision.Denied) {
        return DENIED;
      }
      return decision instanceof Decision.Depleted ? DEPLETED : IMPOSSIBLE;
    }
  }

  void add(Decision decision) {
    count(Outcome.of(decision)).increment();
  }

  public long of(Outcome outcome) {
    return count(outcome).sum();
  }

  private LongAdder count(Outcome outcome) {
    return Objects.requireNonNull(counts.get(outcome));
  }
}
