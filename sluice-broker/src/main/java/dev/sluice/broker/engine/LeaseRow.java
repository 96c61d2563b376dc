package dev.sluice.broker.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * The row in which a batch stores the leases that it gave or changed.
 *
 * <p>It is needed while one of them is in force, and while another row says something that it
 * corrects; then it is deleted. So what is found after a restart is what was in force.
 */
final class LeaseRow {
  final int epoch;
  final long batch;

  /** What it is needed for: leases, and rows that it corrects. */
  int references;

  /** Rows that say that leases of this one are over. */
  final List<LeaseRow> corrections = new ArrayList<>(0);

  LeaseRow(int epoch, long batch) {
    this.epoch = epoch;
    this.batch = batch;
  }
}
