/**
 * What listeners of both protocols share: TLS, addresses, connection limits and budgets of memory.
 */
@NullMarked
package dev.sluice.server.transport;

import org.jspecify.annotations.NullMarked;
