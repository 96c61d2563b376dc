/**
 * The store on RocksDB, and checks of its files.
 *
 * <p>The only package that uses RocksDB.
 */
@NullMarked
package dev.sluice.broker.internal.store.rocks;

import org.jspecify.annotations.NullMarked;
