package dev.sluice.cli;

import dev.sluice.cli.Callers.Count;

/**
 * The demo at one instant.
 *
 * @param elapsedNanos time since the start
 * @param bucket what the bucket looks like
 * @param counts what the callers got since the start
 * @param toldNanos the last retry-after that the greedy caller was told
 * @param legal what may have been granted at most
 */
record Snapshot(long elapsedNanos, BucketState bucket, Counts counts, long toldNanos, long legal) {

  /** The bucket: its rate, the tokens in it, and who waits for more. */
  record BucketState(long perSecond, long level, int waiting) {}

  /** Tokens granted and requests denied, by caller. */
  record Counts(Count polite, Count greedy, Count patient) {
    static final Counts NONE = new Counts(Count.NONE, Count.NONE, Count.NONE);

    Counts since(Counts earlier) {
      return new Counts(
          polite.since(earlier.polite),
          greedy.since(earlier.greedy),
          patient.since(earlier.patient));
    }

    long granted() {
      return polite.granted() + greedy.granted() + patient.granted();
    }

    long denied() {
      return polite.denied() + greedy.denied() + patient.denied();
    }
  }

  /** Whether the bucket kept its promise so far. */
  boolean isLegal() {
    return counts.granted() <= legal;
  }
}
