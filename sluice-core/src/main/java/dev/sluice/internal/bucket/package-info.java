/**
 * Token buckets: the arithmetic, the state that one compare-and-set replaces, and the waiting list.
 *
 * <dl>
 *   <dt>unit
 *   <dd>the integer in which a bucket calculates: small enough that one nanosecond of refill and
 *       one token are both whole numbers of it, so that nothing is ever rounded.
 *   <dt>full-at
 *   <dd>the instant, in units, at which a bucket will be full if no tokens are taken: its whole
 *       state. GCRA calls it the theoretical arrival time.
 *   <dt>debt
 *   <dd>the units between now and full-at. More than a capacity of debt means that callers wait.
 *   <dt>seal
 *   <dd>a mark that freezes one configuration of a bucket while the next one takes over.
 * </dl>
 *
 * <p>Not exported; uses the API and {@code internal.time} and {@code internal.util}.
 */
@NullMarked
package dev.sluice.internal.bucket;

import org.jspecify.annotations.NullMarked;
