/** Benchmarks of token buckets, keyed limits and the scheduler, with rivals. */
@NullMarked
package dev.sluice.bench.core;

import org.jspecify.annotations.NullMarked;
