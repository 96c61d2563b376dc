package dev.sluice.cli.commands;

import dev.sluice.client.QueueSummary;
import dev.sluice.client.QueueTotals;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Messages per second of one queue.
 *
 * @param enqueued enqueued messages
 * @param delivered delivered messages
 * @param acked acknowledged messages
 */
record TopRates(double enqueued, double delivered, double acked) {
  /** Returns the rates between two samples; empty without an earlier one or after a restart. */
  static Optional<TopRates> of(@Nullable TopSample before, TopSample now, QueueSummary queue) {
    if (before == null || now.nanos() <= before.nanos()) {
      return Optional.empty();
    }
    double seconds = (double) (now.nanos() - before.nanos()) / TimeUnit.SECONDS.toNanos(1);
    return before.queues().stream()
        .filter(earlier -> earlier.name().equals(queue.name()))
        .map(QueueSummary::totals)
        .filter(earlier -> !wasReset(earlier, queue.totals()))
        .map(earlier -> between(earlier, queue.totals(), seconds))
        .findAny();
  }

  private static boolean wasReset(QueueTotals before, QueueTotals now) {
    return now.enqueued() < before.enqueued()
        || now.delivered() < before.delivered()
        || now.acked() < before.acked();
  }

  private static TopRates between(QueueTotals before, QueueTotals now, double seconds) {
    return new TopRates(
        (now.enqueued() - before.enqueued()) / seconds,
        (now.delivered() - before.delivered()) / seconds,
        (now.acked() - before.acked()) / seconds);
  }
}
