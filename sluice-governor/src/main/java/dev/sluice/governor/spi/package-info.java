/**
 * Types for implementations of {@link dev.sluice.governor.BudgetStore}: timers, snapshots, limits,
 * ids of tickets.
 *
 * <p>Uses the API alone. For modules of Sluice; not covered by the promise of compatibility.
 */
@NullMarked
package dev.sluice.governor.spi;

import org.jspecify.annotations.NullMarked;
