/**
 * Checks of arguments, and joining of threads.
 *
 * <p>Uses no other package of the broker.
 */
@NullMarked
package dev.sluice.broker.util;

import org.jspecify.annotations.NullMarked;
