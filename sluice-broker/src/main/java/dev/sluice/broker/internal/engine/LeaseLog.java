package dev.sluice.broker.internal.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** The stored rows with leases, oldest first, and the leases in force. */
public final class LeaseLog {
  /*
   * Invariant. The stored rows are a log without gaps: a row is deleted only when it is the oldest,
   * and when newer rows have the last word on all of its leases. So a restart that reads the rows
   * in order finds the leases in force and no others, and what a row says about a revoked lease is
   * there for as long as any row that has this lease.
   *
   * Bounds. One lease that is held for long would keep all rows since, and so would leases that
   * are extended again and again. When the log is too long, leases of its oldest row are stored
   * again with the present batch. Each record costs at most one such copy on average.
   */

  /** The most rows with few leases; each lasts for as long as it takes to write these. */
  private static final int MAX_ROWS = 1_000;

  /** One more row may be kept for so many leases in force. */
  private static final int LEASES_PER_ROW = 64;

  /** The most records beside two for each lease in force. */
  private static final int MAX_RECORDS = 65_536;

  /** The most leases that one batch stores again. */
  private static final int MAX_COPIES = 1_000;

  private final Deque<LeaseRow> rows = new ArrayDeque<>();
  private int maxRows = MAX_ROWS;

  /** The records of {@link #rows}. */
  private long records;

  // Leases in force, in the order of the rows that have the last word on them.
  private @Nullable Lease oldest;
  private @Nullable Lease newest;
  private int leases;

  /** Stores again the leases of all but so many rows; for tests. */
  public void limitRows(int max) {
    maxRows = max;
  }

  /** Returns the number of stored rows. */
  public int rowCount() {
    return rows.size();
  }

  /** Adds {@code lease}, or a change of it, to the row of {@code batch}. */
  void store(Lease lease, CommitBatch batch) {
    unlink(lease);
    link(lease, batch.leases);
    truncate(batch);
  }

  /** Adds a lease from before a restart to {@code row}. */
  void restore(Lease lease, LeaseRow row) {
    link(lease, row);
  }

  /** Removes {@code lease}, which is over, unless that has been done before. */
  void discard(Lease lease, CommitBatch batch) {
    unlink(lease);
    truncate(batch);
  }

  /** Removes {@code lease}; the batch says that it is over. */
  void revoke(Lease lease, CommitBatch batch) {
    batch.leases.corrects = true;
    batch.leases.records++;
    discard(lease, batch);
  }

  /** Decides whether {@code batch}, to which nothing is added any more, has a row. */
  void seal(CommitBatch batch) {
    for (int copies = 0; copies < MAX_COPIES && isTooLong(); copies++) {
      Lease lease = oldest;
      if (lease == null || lease.row == batch.leases) {
        break;
      }
      MessageEntry entry = lease.entry;
      batch.changes.add(
          new StateChange.LeaseChanged(entry, lease.token, entry.attempts, lease.due));
      store(lease, batch);
    }
    LeaseRow row = batch.leases;
    batch.storesLeases = row.leases > 0 || (row.corrects && !rows.isEmpty());
    if (batch.storesLeases) {
      add(row);
    }
  }

  private boolean isTooLong() {
    return rows.size() > maxRows + leases / LEASES_PER_ROW || records > MAX_RECORDS + 2L * leases;
  }

  /** Adds a row that is about to be written. */
  void add(LeaseRow row) {
    rows.addLast(row);
    records += row.records;
  }

  private void truncate(CommitBatch batch) {
    for (LeaseRow row; (row = rows.peekFirst()) != null && row.leases == 0; ) {
      rows.removeFirst();
      records -= row.records;
      batch.changes.add(new StateChange.LeasesEnded(row.epoch, row.batch));
    }
  }

  private void link(Lease lease, LeaseRow row) {
    lease.row = row;
    row.leases++;
    row.records++;
    leases++;
    lease.older = newest;
    if (newest == null) {
      oldest = lease;
    } else {
      newest.newer = lease;
    }
    newest = lease;
  }

  private void unlink(Lease lease) {
    LeaseRow row = lease.row;
    if (row == null) {
      return;
    }
    lease.row = null;
    row.leases--;
    leases--;
    if (lease.older == null) {
      oldest = lease.newer;
    } else {
      lease.older.newer = lease.newer;
    }
    if (lease.newer == null) {
      newest = lease.older;
    } else {
      lease.newer.older = lease.older;
    }
    lease.older = null;
    lease.newer = null;
  }
}
