package dev.sluice.broker.internal.store;

/** The tables of a {@link Store}; {@code engine.Schema} encodes their rows. */
public enum StoreTable {
  /** Envelope and payload of a message; a row is put once and deleted once, ever. */
  MESSAGE(1, true),

  /** State of messages: keys, attempts, and the time of the next delivery. */
  STATE(2, false),

  /** Leases that were given, so that they outlive a restart. */
  LEASE(3, false),

  /** Dedupe ids of messages that producers sent before. */
  DEDUPE(4, false),

  /** Queues and the configuration that hooks and throttles read. */
  CONFIG(5, false),

  /** Levels of throttle buckets. */
  LEVEL(6, false),

  /** The version of the schema, broker time and counters. */
  META(7, false);

  private static final StoreTable[] BY_COLUMN_FAMILY = values();

  /**
   * The column family, which is stored in every batch; 0 is RocksDB's default, which stays empty.
   */
  public final int columnFamily;

  /** Whether no key is ever put twice, which allows a cheaper deletion. */
  public final boolean writeOnce;

  StoreTable(int columnFamily, boolean writeOnce) {
    this.columnFamily = columnFamily;
    this.writeOnce = writeOnce;
  }

  public static StoreTable ofColumnFamily(int columnFamily) {
    return BY_COLUMN_FAMILY[columnFamily - 1];
  }
}
