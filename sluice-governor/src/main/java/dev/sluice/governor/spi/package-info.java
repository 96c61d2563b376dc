/**
 * Needed by implementations of {@link dev.sluice.governor.BudgetStore} besides the API: timers,
 * snapshots, ids of tickets.
 *
 * <p>For modules of Sluice; not covered by the promise of compatibility.
 */
@NullMarked
package dev.sluice.governor.spi;

import org.jspecify.annotations.NullMarked;
