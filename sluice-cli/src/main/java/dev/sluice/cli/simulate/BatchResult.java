package dev.sluice.cli.simulate;

import dev.sluice.Decision;
import org.jspecify.annotations.Nullable;

/** The result of one batch. The simulation fills it. */
final class BatchResult {
  final RequestBatch batch;

  /** Tokens there before and after it. */
  final long available;

  long left;

  // How many of the batch's requests were granted at once, denied, and granted after a wait. The
  // rest is still waiting.
  int granted;
  int denied;
  int served;

  /** The answer to those denied: they differ in nothing, so it is one. */
  @Nullable Decision denial;

  /** Returns when the last waiting request was served. */
  long servedNanos;

  BatchResult(RequestBatch batch, long available) {
    this.batch = batch;
    this.available = available;
  }

  /** Returns the number of requests that were not granted at once but may be granted later. */
  int waited() {
    return batch.count() - granted - denied;
  }

  /** Returns the number of requests that were never granted nor answered. */
  int unserved() {
    return waited() - served;
  }
}
