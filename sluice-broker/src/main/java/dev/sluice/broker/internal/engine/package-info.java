/**
 * The engine of the broker: queues, messages, leases and timers, changed by one thread.
 *
 * <p>Reads no clock, starts no thread and opens no file: time and results of I/O are arguments.
 * Uses the API, {@code accounting}, {@code hooks}, {@code store} and {@code util}.
 */
@NullMarked
package dev.sluice.broker.internal.engine;

import org.jspecify.annotations.NullMarked;
