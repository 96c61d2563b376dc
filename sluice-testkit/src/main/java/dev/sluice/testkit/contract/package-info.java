/**
 * The contracts that every implementation of a limit and every store of budgets keeps, and the time
 * that they pass.
 */
@NullMarked
package dev.sluice.testkit.contract;

import org.jspecify.annotations.NullMarked;
