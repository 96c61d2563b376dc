/**
 * Settings from files, the environment and the command line, and how they are printed.
 *
 * <p>Uses the records of {@code dev.sluice.server}.
 */
@NullMarked
package dev.sluice.server.config;

import org.jspecify.annotations.NullMarked;
