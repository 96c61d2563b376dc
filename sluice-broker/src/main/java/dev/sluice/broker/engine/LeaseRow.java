package dev.sluice.broker.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * The row in which a batch stores the leases that it gave or changed.
 *
 * <p>It is needed while one of them is in force, and while another row says something that it
 * corrects; then it is deleted. So the rows that are found after a restart have the leases in
 * force.
 */
final class LeaseRow {
  final int epoch;
  final long batch;

  /** The leases, and the rows that it corrects, for which it is needed. */
  int references;

  /** Rows that say that leases of this one are over. */
  final List<LeaseRow> corrections = new ArrayList<>(0);

  LeaseRow(int epoch, long batch) {
    this.epoch = epoch;
    this.batch = batch;
  }
}
