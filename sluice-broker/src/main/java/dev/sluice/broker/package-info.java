/**
 * Durable queues that are fair between tenants and obey rate limits.
 *
 * <p>Start at {@link dev.sluice.broker.Broker}.
 */
@NullMarked
package dev.sluice.broker;

import org.jspecify.annotations.NullMarked;
