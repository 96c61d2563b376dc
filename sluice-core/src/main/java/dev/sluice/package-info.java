/**
 * Decides which requests and items may go now, which wait, and for how long.
 *
 * <p>Start at {@link dev.sluice.TokenBucket}, or at {@link dev.sluice.Limits} for many by name;
 * {@link dev.sluice.Limit} says what they allow, {@link dev.sluice.Decision} what they answered,
 * {@link dev.sluice.NanoClock} where their time comes from. {@link dev.sluice.FairScheduler}
 * decides which item goes next, and {@link dev.sluice.FairExecutor} runs tasks by it.
 *
 * <h2>Vocabulary</h2>
 *
 * <dl>
 *   <dt>token
 *   <dd>what a caller acquires; always a whole number.
 *   <dt>capacity
 *   <dd>the most tokens a bucket holds, and so the largest burst.
 *   <dt>level
 *   <dd>the tokens a bucket holds at an instant, fractions included; {@code available} is its
 *       floor.
 *   <dt>unit
 *   <dd>the integer in which a bucket calculates: small enough that one nanosecond of refill and
 *       one token are both whole numbers of it, so that nothing is ever rounded.
 *   <dt>full-at
 *   <dd>the instant, in units, at which a bucket will be full if no caller touches it: its whole
 *       state.
 *   <dt>debt
 *   <dd>units between now and full-at. More than a capacity of debt means that callers wait.
 *   <dt>waiter
 *   <dd>a caller whose tokens are promised but not minted yet.
 *   <dt>name
 *   <dd>what limits keep a bucket for, if a limit was set for it or a template matches it.
 *   <dt>seal
 *   <dd>a mark that freezes one configuration of a bucket while the next one takes over.
 *   <dt>fairness key
 *   <dd>the tenant, customer or user of an item; keys share service by weight.
 *   <dt>throttle key
 *   <dd>a limit that an item obeys; it may obey several.
 *   <dt>round, quantum, deficit
 *   <dd>in a round every key may spend its quantum, its weight times the unit; the deficit is what
 *       is left of it.
 *   <dt>gate
 *   <dd>a throttle key of a scheduler: its limit, and the items that it does not let through yet.
 *   <dt>promise
 *   <dd>tokens that a gate keeps for an item that it let through and that has not gone yet.
 * </dl>
 */
@NullMarked
package dev.sluice;

import org.jspecify.annotations.NullMarked;
