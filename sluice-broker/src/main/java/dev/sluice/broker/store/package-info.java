/**
 * The rows of the broker and how they are encoded, over a store of bytes by key.
 *
 * <p>{@code store.rocks} implements the store.
 */
@NullMarked
package dev.sluice.broker.store;

import org.jspecify.annotations.NullMarked;
