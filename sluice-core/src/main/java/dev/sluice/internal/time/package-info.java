/**
 * Clocks of the machine, and timers over a {@link dev.sluice.NanoClock}.
 *
 * <p>Not exported; the only package that reads the time of the JDK.
 */
@NullMarked
package dev.sluice.internal.time;

import org.jspecify.annotations.NullMarked;
