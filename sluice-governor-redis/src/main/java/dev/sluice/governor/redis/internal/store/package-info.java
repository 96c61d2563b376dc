/**
 * The budget store in Redis: scripts, grants of this node, settlements to send, and decisions
 * during an outage.
 *
 * <p>Uses {@code dev.sluice.redis.internal.connection}.
 */
@NullMarked
package dev.sluice.governor.redis.internal.store;

import org.jspecify.annotations.NullMarked;
