package dev.sluice.cli.commands;

import dev.sluice.client.QueueSummary;
import dev.sluice.client.ThrottleRate;
import java.util.Comparator;
import java.util.List;

/**
 * The state of a server at one time.
 *
 * @param nanos the time of the sample
 * @param queues deepest first
 * @param throttled throttle keys without a whole token, ordered by key
 */
public record TopSample(long nanos, List<QueueSummary> queues, List<ThrottleRate> throttled) {
  public static TopSample of(long nanos, List<QueueSummary> queues, List<ThrottleRate> throttles) {
    return new TopSample(
        nanos,
        queues.stream()
            .sorted(
                Comparator.comparingLong(QueueSummary::depth)
                    .reversed()
                    .thenComparing(QueueSummary::name))
            .toList(),
        throttles.stream()
            .filter(rate -> rate.tokens() < 1)
            .sorted(Comparator.comparing(ThrottleRate::key))
            .toList());
  }

  long depth() {
    return queues.stream().mapToLong(QueueSummary::depth).sum();
  }

  long inFlight() {
    return queues.stream().mapToLong(QueueSummary::inFlight).sum();
  }
}
