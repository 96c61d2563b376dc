/** Counts what queues and fairness keys hold in memory, and bounds it. */
@NullMarked
package dev.sluice.broker.accounting;

import org.jspecify.annotations.NullMarked;
