/** Token budgets of LLM models: who may call now, who waits, and for how long. */
@NullMarked
package dev.sluice.governor;

import org.jspecify.annotations.NullMarked;
