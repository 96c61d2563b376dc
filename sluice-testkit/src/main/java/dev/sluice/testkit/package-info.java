/**
 * For tests: processes and their clocks, and waits for conditions.
 *
 * <p>{@code redis} has real Redis servers and a proxy that fails on demand, {@code load} fleets
 * under load and what they were granted, {@code contract} the contracts that every implementation
 * of a limit and every store of budgets keeps. This package uses none of them; {@code redis} and
 * {@code load} do not use the contracts.
 */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;
