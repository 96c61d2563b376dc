/** Java client for queues, limits and token budgets of a Sluice server, over {@code sluice.v1}. */
@NullMarked
package dev.sluice.client;

import org.jspecify.annotations.NullMarked;
