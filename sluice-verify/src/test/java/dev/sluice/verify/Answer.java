package dev.sluice.verify;

/**
 * The result of an operation, and its time by the clock.
 *
 * @param nowNanos the reading on which the operation acted; after an advance, the new time
 * @param value what was granted, or is available; after an advance, how far that went
 */
record Answer(long nowNanos, long value) {}
