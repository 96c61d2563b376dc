package dev.sluice.client;

/**
 * Counts of a queue since the server was started or the queue was created.
 *
 * @param enqueued messages from producers; excludes dead letters and redriven messages
 * @param delivered deliveries to consumers, including those that were released
 * @param acked acknowledged messages
 * @param failed deliveries that were nacked or whose lease ended
 * @param deadLettered messages that moved to the dead-letter queue
 * @since 0.1
 */
public record QueueTotals(
    long enqueued, long delivered, long acked, long failed, long deadLettered) {
  static QueueTotals of(dev.sluice.proto.v1.QueueTotals wire) {
    return new QueueTotals(
        wire.getEnqueued(),
        wire.getDelivered(),
        wire.getAcked(),
        wire.getFailed(),
        wire.getDeadLettered());
  }
}
