/**
 * Decides on the requests for one model: buckets, waiting lists by priority class, grants and
 * forecasts.
 *
 * <p>One thread at a time uses the state of a model.
 */
@NullMarked
package dev.sluice.governor.engine;

import org.jspecify.annotations.NullMarked;
