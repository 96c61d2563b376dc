/**
 * Deficit round robin over fairness keys, with throttle keys, concurrency and minimum rates.
 *
 * <dl>
 *   <dt>round, quantum, deficit
 *   <dd>in a round every fairness key may spend its quantum, its weight times the unit; the deficit
 *       is the rest of it.
 *   <dt>gate
 *   <dd>a throttle key of a scheduler: its limit, and the items that it does not let through yet.
 *   <dt>promise
 *   <dd>tokens that a gate keeps for an item that it let through and that is not delivered yet.
 * </dl>
 *
 * <p>Has no clock and no thread: time is an argument. Not exported; uses {@code internal.bucket}
 * and {@code internal.util}.
 */
@NullMarked
package dev.sluice.internal.scheduler;

import org.jspecify.annotations.NullMarked;
