/** Metrics, traces and the configuration of logs. */
@NullMarked
package dev.sluice.server.telemetry;

import org.jspecify.annotations.NullMarked;
