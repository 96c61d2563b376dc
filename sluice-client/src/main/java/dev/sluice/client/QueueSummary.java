package dev.sluice.client;

import dev.sluice.proto.v1.ListQueuesResponse;

/**
 * Statistics of one queue in the list of queues.
 *
 * @param name the queue's name
 * @param depth all messages: ready, delayed and in flight
 * @param inFlight leased messages
 * @param consumers connected consumers
 * @param totals counts since the server was started
 * @since 0.1
 */
public record QueueSummary(
    String name, long depth, long inFlight, int consumers, QueueTotals totals) {
  static QueueSummary of(ListQueuesResponse.Queue wire) {
    return new QueueSummary(
        wire.getName(),
        wire.getDepth(),
        wire.getInFlight(),
        wire.getConsumers(),
        QueueTotals.of(wire.getTotals()));
  }
}
