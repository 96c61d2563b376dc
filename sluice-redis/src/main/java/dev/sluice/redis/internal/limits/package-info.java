/**
 * Limits in Redis: decisions by script, token blocks, definitions of limits, and decisions during
 * an outage.
 *
 * <p>Uses {@code connection}, which does not know this package.
 */
@NullMarked
package dev.sluice.redis.internal.limits;

import org.jspecify.annotations.NullMarked;
