/**
 * Counts what queues and fairness keys hold in memory, and bounds it.
 *
 * <p>Uses the API alone.
 */
@NullMarked
package dev.sluice.broker.internal.accounting;

import org.jspecify.annotations.NullMarked;
