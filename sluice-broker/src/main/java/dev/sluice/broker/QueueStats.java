package dev.sluice.broker;

import dev.sluice.FairnessKeyStats;
import java.time.Duration;
import java.util.List;

/**
 * The statistics of a queue.
 *
 * @param queue the name of the queue
 * @param depth all messages: ready, delayed and in flight
 * @param inFlight messages that are delivered and not settled
 * @param delayed messages that cannot be delivered yet
 * @param oldestReady how long the oldest message that can be delivered has waited, in whole
 *     seconds; zero without one
 * @param consumers the number of consumers
 * @param fairnessKeys the fairness keys with waiting messages
 * @param totals counters since the broker was opened
 * @param unknownThrottleKeys messages so far that named a throttle key without a limit, stored or
 *     refused
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
    String lastUnknownThrottleKey) {}
