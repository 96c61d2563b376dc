/**
 * Parts that the listeners of both protocols share: TLS, addresses, connection limits and memory
 * budgets.
 */
@NullMarked
package dev.sluice.server.transport;

import org.jspecify.annotations.NullMarked;
