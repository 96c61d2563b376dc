/**
 * Metrics, traces and the configuration of logs.
 *
 * <p>Uses the configuration, {@code support} and {@code operations}; the protocols report to it.
 */
@NullMarked
package dev.sluice.server.telemetry;

import org.jspecify.annotations.NullMarked;
