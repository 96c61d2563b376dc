/** The limits of a fleet in virtual time, under faults. */
@NullMarked
package dev.sluice.redis.simulation;

import org.jspecify.annotations.NullMarked;
