/** Benchmarks of the broker in this process. */
@NullMarked
package dev.sluice.bench.broker;

import org.jspecify.annotations.NullMarked;
