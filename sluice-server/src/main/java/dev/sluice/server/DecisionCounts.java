package dev.sluice.server;

import dev.sluice.ThrottleDecision;
import java.util.concurrent.atomic.LongAdder;

/** How limits have decided so far. Thread-safe, and next to nothing beside a decision. */
final class DecisionCounts {
  private final LongAdder[] counts = new LongAdder[Outcome.values().length];

  DecisionCounts() {
    for (int i = 0; i < counts.length; i++) {
      counts[i] = new LongAdder();
    }
  }

  /** One for each kind of {@link ThrottleDecision}. */
  enum Outcome {
    GRANTED,
    DENIED,
    DEPLETED,
    IMPOSSIBLE;

    static Outcome of(ThrottleDecision decision) {
      if (decision.isGranted()) {
        return GRANTED;
      }
      if (decision instanceof ThrottleDecision.Denied) {
        return DENIED;
      }
      return decision instanceof ThrottleDecision.Depleted ? DEPLETED : IMPOSSIBLE;
    }
  }

  void add(ThrottleDecision decision) {
    counts[Outcome.of(decision).ordinal()].increment();
  }

  long of(Outcome outcome) {
    return counts[outcome.ordinal()].sum();
  }
}
