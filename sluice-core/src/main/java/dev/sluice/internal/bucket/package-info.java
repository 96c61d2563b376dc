/**
 * Token buckets: the arithmetic, the state that one compare-and-set replaces, and the waiting list.
 *
 * <p>Not exported; uses the API and {@code internal.time} and {@code internal.util}.
 */
@NullMarked
package dev.sluice.internal.bucket;

import org.jspecify.annotations.NullMarked;
