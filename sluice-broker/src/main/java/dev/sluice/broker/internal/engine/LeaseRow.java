package dev.sluice.broker.internal.engine;

/** The row in which a batch stores the leases that it gave, changed or revoked. */
final class LeaseRow {
  final int epoch;
  final long batch;

  /** The leases in force of which no later row says more. */
  int leases;

  /** The times that it names a lease. */
  int records;

  /** Whether it says that a lease was revoked which an older row may have. */
  boolean corrects;

  LeaseRow(int epoch, long batch) {
    this.epoch = epoch;
    this.batch = batch;
  }
}
