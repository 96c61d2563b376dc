package dev.sluice.broker;

/**
 * Counters of a queue since the broker was opened, or the queue was created.
 *
 * @param enqueued messages stored by producers, without dead letters and redriven messages
 * @param delivered deliveries, including those that were released
 * @param acked acknowledged messages
 * @param failed deliveries that were nacked or whose lease expired
 * @param deadLettered messages moved to the dead-letter queue
 * @since 0.1
 */
public record QueueTotals(
    long enqueued, long delivered, long acked, long failed, long deadLettered) {}
