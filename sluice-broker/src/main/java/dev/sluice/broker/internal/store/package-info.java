/**
 * Tables of rows, written in batches, and the encoding of numbers, ids and message bodies in them.
 *
 * <p>{@code store.rocks} implements the tables; {@code engine.Schema} encodes whole rows. Uses the
 * API and {@code util}.
 */
@NullMarked
package dev.sluice.broker.internal.store;

import org.jspecify.annotations.NullMarked;
