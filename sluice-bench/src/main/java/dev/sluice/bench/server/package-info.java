/**
 * Benchmarks of the server over the wire, with rivals, and of its defense against hostile clients.
 */
@NullMarked
package dev.sluice.bench.server;

import org.jspecify.annotations.NullMarked;
