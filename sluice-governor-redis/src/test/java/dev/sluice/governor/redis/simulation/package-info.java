/** The governor of a fleet in virtual time, under faults. */
@NullMarked
package dev.sluice.governor.redis.simulation;

import org.jspecify.annotations.NullMarked;
