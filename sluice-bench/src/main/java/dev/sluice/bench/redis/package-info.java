/** Benchmarks of limits that a fleet shares through Redis, with rivals. */
@NullMarked
package dev.sluice.bench.redis;

import org.jspecify.annotations.NullMarked;
