package dev.sluice.broker;

import dev.sluice.FairnessKeyStats;
import java.time.Duration;
import java.util.List;

/**
 * How a queue stands.
 *
 * @param queue its name
 * @param depth the messages it holds, whatever they wait for
 * @param inFlight those that consumers have
 * @param delayed those that may not go before some time
 * @param oldestReady how long the oldest message that could be delivered has waited, in whole
 *     seconds; zero without one
 * @param consumers how many consumers it has
 * @param fairnessKeys the fairness keys of which something waits
 * @param totals what became of its messages so far
 * @param unknownThrottleKeys how many messages named a throttle key without a rate so far, stored
 *     or refused
 * @param lastUnknownThrottleKey the latest such key; empty if there was none
 * @since 0.1
 */
public record QueueStats(
    String queue,
    long depth,
    long inFlight,
    long delayed,
    Duration oldestReady,
    int consumers,
    List<FairnessKeyStats> fairnessKeys,
    QueueTotals totals,
    long unknownThrottleKeys,
    String lastUnknownThrottleKey) {
  QueueStats withKeys(List<FairnessKeyStats> other) {
    return new QueueStats(
        queue,
        depth,
        inFlight,
        delayed,
        oldestReady,
        consumers,
        other,
        totals,
        unknownThrottleKeys,
        lastUnknownThrottleKey);
  }
}
