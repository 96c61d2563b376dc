/**
 * Token budgets of LLM models that a fleet shares through Redis: one budget and one waiting list.
 */
@NullMarked
package dev.sluice.governor.redis;

import org.jspecify.annotations.NullMarked;
