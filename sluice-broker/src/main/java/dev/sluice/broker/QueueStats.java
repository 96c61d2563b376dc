package dev.sluice.broker;

import dev.sluice.KeyStats;
import java.util.List;

/**
 * How a queue stands.
 *
 * @param queue its name
 * @param depth the messages it holds, whatever they wait for
 * @param inFlight those that consumers have
 * @param delayed those that may not go before some time
 * @param consumers how many consumers it has
 * @param keys the fairness keys of which something waits
 * @param totals what became of its messages so far
 * @since 0.1
 */
public record QueueStats(
    String queue,
    long depth,
    long inFlight,
    long delayed,
    int consumers,
    List<KeyStats> keys,
    QueueTotals totals) {
  QueueStats withKeys(List<KeyStats> other) {
    return new QueueStats(queue, depth, inFlight, delayed, consumers, other, totals);
  }
}
