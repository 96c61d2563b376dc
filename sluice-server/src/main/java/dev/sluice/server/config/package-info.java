/**
 * Settings from files, the environment and the command line, and how they are printed.
 *
 * <p>Uses the configuration of {@code dev.sluice.server} alone.
 */
@NullMarked
package dev.sluice.server.config;

import org.jspecify.annotations.NullMarked;
