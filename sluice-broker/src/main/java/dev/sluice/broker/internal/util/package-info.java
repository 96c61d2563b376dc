/**
 * Checks of arguments, and joining of threads.
 *
 * <p>Uses no other package of the broker.
 */
@NullMarked
package dev.sluice.broker.internal.util;

import org.jspecify.annotations.NullMarked;
