package dev.sluice.redis;

import java.util.concurrent.atomic.LongAdder;

/** What has happened since the start. */
final class Counts {
  final LongAdder exact = new LongAdder();
  final LongAdder leased = new LongAdder();
  final LongAdder open = new LongAdder();
  final LongAdder closed = new LongAdder();
  final LongAdder local = new LongAdder();
  final LongAdder outages = new LongAdder();
  final LongAdder chargedTokens = new LongAdder();

  LimitsStatus status(boolean available, int nodes, long timeouts) {
    return new LimitsStatus(
        available,
        nodes,
        exact.sum(),
        leased.sum(),
        open.sum(),
        closed.sum(),
        local.sum(),
        timeouts,
        outages.sum(),
        chargedTokens.sum());
  }
}
