/**
 * Token budgets of LLM models: requests are granted, queued with a forecast, or denied.
 *
 * <p>The types of this package use {@code spi}. {@link dev.sluice.governor.Governor} and {@link
 * dev.sluice.governor.BudgetStore} also create the store of {@code local} and the monitor; none
 * uses {@code engine}.
 */
@NullMarked
package dev.sluice.governor;

import org.jspecify.annotations.NullMarked;
