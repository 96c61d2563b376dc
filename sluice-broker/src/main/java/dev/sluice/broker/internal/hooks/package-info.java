/**
 * Hooks of queues, in any language: limits, budgets, the circuit breaker and the threads.
 *
 * <p>Uses the API alone.
 */
@NullMarked
package dev.sluice.broker.internal.hooks;

import org.jspecify.annotations.NullMarked;
