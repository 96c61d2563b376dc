/**
 * Parts that the listeners of both protocols share: TLS, addresses, connection limits and memory
 * budgets.
 *
 * <p>Uses the configuration, {@code support} and {@code auth}.
 */
@NullMarked
package dev.sluice.server.transport;

import org.jspecify.annotations.NullMarked;
