/**
 * Runs the engine: the thread of the engine, the committer, readers, and calls that wait for them.
 *
 * <p>May use every other package of the broker.
 */
@NullMarked
package dev.sluice.broker.internal.runtime;

import org.jspecify.annotations.NullMarked;
