/** Benchmarks: rivals behind one interface, measured in the same run as Sluice. */
@NullMarked
package dev.sluice.bench;

import org.jspecify.annotations.NullMarked;
