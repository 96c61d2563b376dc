/**
 * Decides which requests and items may go now, which wait, and for how long.
 *
 * <p>Start at {@link dev.sluice.TokenBucket}, or at {@link dev.sluice.Limits} for many by name. A
 * {@link dev.sluice.Limit} configures them, a {@link dev.sluice.Decision} is their answer, and a
 * {@link dev.sluice.NanoClock} is the source of their time. {@link dev.sluice.FairScheduler}
 * chooses the next item, and {@link dev.sluice.FairExecutor} runs tasks in its order.
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
 *   <dt>waiter
 *   <dd>a caller that waits for tokens that have not accrued yet.
 *   <dt>name
 *   <dd>the name of a limit; {@code Limits} keeps a bucket for each name with a limit or a
 *       template.
 *   <dt>fairness key
 *   <dd>the tenant, customer or user of an item; keys share service by weight.
 *   <dt>throttle key
 *   <dd>a limit that an item obeys; it may obey several.
 * </dl>
 */
@NullMarked
package dev.sluice;

import org.jspecify.annotations.NullMarked;
