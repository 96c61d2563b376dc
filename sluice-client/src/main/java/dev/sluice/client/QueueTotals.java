package dev.sluice.client;

/**
 * What became of a queue's messages since the server was started, or the queue was made.
 *
 * @param enqueued stored by producers; neither dead letters nor redriven messages
 * @param delivered handed to consumers, each time, also what came back untouched
 * @param acked acknowledged
 * @param failed not handled by a consumer that said so, or whose lease ran out, each time
 * @param deadLettered moved from this queue to that of its dead letters
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
