package dev.sluice.broker;

/**
 * What may differ between two {@link RocksStore}s.
 *
 * @param messageBufferBytes how much of {@link Table#MESSAGE} is held in memory before it is
 *     written to a table file; messages that come and go within it never reach one
 * @param verifyTables whether to read all table files when opening, so that damage is reported then
 */
record RocksSettings(long messageBufferBytes, boolean verifyTables) {
  static final RocksSettings DEFAULT = new RocksSettings(64L << 20, true);
}
