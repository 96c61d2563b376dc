/**
 * Deficit round robin over fairness keys, with throttle keys, concurrency and minimum rates.
 *
 * <p>Not exported; uses {@code internal.bucket} and {@code internal.util}.
 */
@NullMarked
package dev.sluice.internal.scheduler;

import org.jspecify.annotations.NullMarked;
