/**
 * The connection to Redis, its time-out, its breaker and its pulse: for Sluice's own modules; no
 * promise to anybody else.
 */
@NullMarked
package dev.sluice.redis.link;

import org.jspecify.annotations.NullMarked;
