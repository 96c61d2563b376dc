package dev.sluice.client;

/**
 * A queue in the list of all.
 *
 * @param name its name
 * @param depth messages in all, leased and delayed ones too
 * @param inFlight those that are leased
 * @param consumers who takes messages
 * @param totals what became of its messages so far
 * @since 0.1
 */
public record QueueSummary(
    String name, long depth, long inFlight, int consumers, QueueTotals totals) {}
