package dev.sluice.cli.commands;

import dev.sluice.client.QueueSummary;
import dev.sluice.client.QueueTotals;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a queue does in a second.
 *
 * @param enqueued messages that come in
 * @param delivered messages that go out
 * @param acked messages that are done
 */
record TopRates(double enqueued, double delivered, double acked) {
  /** From the sample before; none if that is not there, or the server has started since. */
  static Optional<TopRates> of(@Nullable TopSample before, TopSample now, QueueSummary queue) {
    if (before == null || now.nanos() <= before.nanos()) {
      return Optional.empty();
    }
    double seconds = (double) (now.nanos() - before.nanos()) / TimeUnit.SECONDS.toNanos(1);
    return before.queues().stream()
        .filter(earlier -> earlier.name().equals(queue.name()))
        .map(QueueSummary::totals)
        .filter(earlier -> !isBack(earlier, queue.totals()))
        .map(earlier -> between(earlier, queue.totals(), seconds))
        .findAny();
  }

  private static boolean isBack(QueueTotals before, QueueTotals now) {
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
