/**
 * Fleets and loads for tests: processes that ask for tokens, the log of what was granted, and the
 * pauses and the cores of this machine.
 */
@NullMarked
package dev.sluice.testkit.load;

import org.jspecify.annotations.NullMarked;
