package dev.sluice.redis.internal.limits;

import dev.sluice.redis.SharedLimitsStatus;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** Counts decisions and outages since the start. */
final class DecisionCounters {
  final LongAdder exact = new LongAdder();
  final LongAdder leased = new LongAdder();
  final LongAdder open = new LongAdder();
  final LongAdder closed = new LongAdder();
  final LongAdder local = new LongAdder();
  final LongAdder outages = new LongAdder();

  /** Forgets decisions, but not outages. */
  void reset() {
    for (LongAdder each : List.of(exact, leased, open, closed, local)) {
      each.reset();
    }
  }

  SharedLimitsStatus status(boolean available, int nodes, long timeouts) {
    return new SharedLimitsStatus(
        available,
        nodes,
        exact.sum(),
        leased.sum(),
        open.sum(),
        closed.sum(),
        local.sum(),
        timeouts,
        outages.sum());
  }
}
