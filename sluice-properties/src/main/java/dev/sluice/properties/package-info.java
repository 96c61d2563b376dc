/**
 * Checks, for tests, a property over random cases, each of which is replayed by its seed; and the
 * reference model of a token bucket.
 */
@NullMarked
package dev.sluice.properties;

import org.jspecify.annotations.NullMarked;
