package dev.sluice.broker;

/**
 * The configuration of a queue and its revision.
 *
 * @param config the configuration
 * @param revision identifies this configuration of this queue; changes with each update, survives a
 *     restart, and is never used again, not even by a new queue of the same name
 * @since 0.1
 */
public record QueueDefinition(QueueConfig config, String revision) {}
