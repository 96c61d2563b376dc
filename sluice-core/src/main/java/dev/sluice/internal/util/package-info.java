/**
 * Data structures and checks that know nothing of limits.
 *
 * <p>Not exported; uses the JDK alone.
 */
@NullMarked
package dev.sluice.internal.util;

import org.jspecify.annotations.NullMarked;
