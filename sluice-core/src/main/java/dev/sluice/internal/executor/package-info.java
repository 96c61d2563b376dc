/**
 * The executor that runs tasks in the order of a {@link dev.sluice.FairScheduler}.
 *
 * <p>Not exported; uses the API, {@code internal.time} and {@code internal.util}.
 */
@NullMarked
package dev.sluice.internal.executor;

import org.jspecify.annotations.NullMarked;
