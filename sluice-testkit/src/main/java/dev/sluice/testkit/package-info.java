/**
 * For tests: real Redis servers, a proxy that fails on demand, time that goes on when told to, and
 * the contracts that every implementation of a limit and every store of budgets keeps.
 */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;
