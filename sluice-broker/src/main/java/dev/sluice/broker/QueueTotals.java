package dev.sluice.broker;

/**
 * What became of a queue's messages since the broker was opened, or the queue was made.
 *
 * @param enqueued stored by producers; neither dead letters nor redriven messages
 * @param delivered handed to consumers, each time, also what came back untouched
 * @param acked acknowledged
 * @param failed not handled by a consumer that said so, or whose lease ran out, each time
 * @param deadLettered moved from this queue to that of its dead letters
 * @since 0.1
 */
public record QueueTotals(
    long enqueued, long delivered, long acked, long failed, long deadLettered) {}
