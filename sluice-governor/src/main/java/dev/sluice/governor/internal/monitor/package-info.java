/**
 * Watches decisions: alerts, the audit and the rate limits that providers report.
 *
 * <p>Uses the API and {@code spi}.
 */
@NullMarked
package dev.sluice.governor.internal.monitor;

import org.jspecify.annotations.NullMarked;
