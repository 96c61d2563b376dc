/** Benchmarks of the governor, alone and with a fleet on Redis. */
@NullMarked
package dev.sluice.bench.governor;

import org.jspecify.annotations.NullMarked;
