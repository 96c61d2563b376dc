/**
 * Shared parts of the benchmarks: rounds, reports, folders, child processes, and probes of heap and
 * CPU.
 */
@NullMarked
package dev.sluice.bench.measure;

import org.jspecify.annotations.NullMarked;
