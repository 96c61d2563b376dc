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

  /** When the last of those that waited was served. */
  long servedNanos;

  BatchResult(RequestBatch batch, long available) {
    this.batch = batch;
    this.available = available;
  }

  /** How many did not get their tokens at once but may get them later. */
  int waited() {
    return batch.count() - granted - denied;
  }

  /** How many never got their tokens, nor an answer. */
  int unserved() {
    return waited() - served;
  }
}
