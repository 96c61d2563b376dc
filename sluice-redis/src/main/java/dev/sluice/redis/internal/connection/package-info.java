/**
 * The connection to Redis: deadlines, the circuit breaker, heartbeats and members.
 *
 * <p>For modules of Sluice; not covered by the promise of compatibility. Does not know what the
 * scripts decide.
 */
@NullMarked
package dev.sluice.redis.internal.connection;

import org.jspecify.annotations.NullMarked;
