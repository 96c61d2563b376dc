package dev.sluice.broker.internal.store.rocks;

import dev.sluice.broker.internal.store.StoreTable;

/**
 * The settings of a {@link RocksStore}.
 *
 * @param messageBufferBytes how much of {@link StoreTable#MESSAGE} is held in memory before it is
 *     written to a table file; messages that come and go within it never reach one
 * @param verifyTables whether to read all table files when opening, so that damage is reported then
 */
public record RocksSettings(long messageBufferBytes, boolean verifyTables) {
  static final RocksSettings DEFAULT = new RocksSettings(64L << 20, true);
}
