/**
 * Decides on the requests for one model: buckets, waiting lists by priority class, grants and
 * forecasts. One thread at a time uses the state of a model.
 *
 * <p>Uses the API and {@code spi}.
 */
@NullMarked
package dev.sluice.governor.internal.engine;

import org.jspecify.annotations.NullMarked;
