/**
 * Decides who may go now, who waits, and for how long.
 *
 * <p>Start at {@link dev.sluice.TokenBucket}, or at {@link dev.sluice.Throttle} for many by key;
 * {@link dev.sluice.Limit} says what it allows, {@link dev.sluice.Decision} what it answered,
 * {@link dev.sluice.NanoClock} where its time comes from.
 *
 * <h2>Vocabulary</h2>
 *
 * <dl>
 *   <dt>token
 *   <dd>what a caller consumes; always a whole number.
 *   <dt>capacity
 *   <dd>the most tokens a bucket holds, and so the largest burst.
 *   <dt>level
 *   <dd>the tokens a bucket holds at an instant, fractions included; {@code available} is its
 *       floor.
 *   <dt>unit
 *   <dd>the integer in which a bucket reckons: small enough that one nanosecond of refill and one
 *       token are both whole numbers of it, so that nothing is ever rounded.
 *   <dt>full-at
 *   <dd>the instant, in units, at which a bucket will be full if nobody touches it: its whole
 *       state.
 *   <dt>debt
 *   <dd>units between now and full-at. More than a capacity of debt means that callers wait.
 *   <dt>waiter
 *   <dd>a caller whose tokens are promised but not minted yet.
 *   <dt>key
 *   <dd>what a throttle keeps a bucket for, if a rate was set for it or a template matches it.
 *   <dt>seal
 *   <dd>a mark that freezes one configuration of a bucket while the next one takes over.
 * </dl>
 */
@NullMarked
package dev.sluice;

import org.jspecify.annotations.NullMarked;
