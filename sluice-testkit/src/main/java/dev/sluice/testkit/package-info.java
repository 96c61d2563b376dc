/**
 * For tests: real Redis servers, a proxy that fails on demand, and the contracts that every
 * implementation of a limit keeps.
 */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;
