/**
 * Benchmarks: rivals behind one interface, measured in the same run as Sluice.
 *
 * <p>{@link dev.sluice.bench.Bench} finds a benchmark by its name, in the package of the part that
 * it measures; all of them use {@code measure}.
 */
@NullMarked
package dev.sluice.bench;

import org.jspecify.annotations.NullMarked;
