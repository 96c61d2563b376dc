package dev.sluice.governor;

import java.time.Instant;

/**
 * Something about a model that somebody should look at.
 *
 * @param model which
 * @param kind what
 * @param value what was measured: a rate of rejections from 0 to 1, those in line, tokens left (or
 *     requests, if these are short), tokens that were reported and not charged
 * @param threshold what it must be beyond for this alert; of an exhausted bucket, what the first in
 *     line needs
 * @param advice what to do
 * @param since when it was first so
 * @since 0.1
 */
public record Alert(
    String model, Kind kind, double value, double threshold, String advice, Instant since) {
  /** What it is about. */
  public enum Kind {
    /** Too many requests are put in line or refused. */
    HIGH_REJECTION_RATE("Scale model capacity"),
    /** Too many are in line. */
    QUEUE_BUILDUP("Increase refill rate"),
    /** The model's own budget cannot serve the first in line, and has not for a while. */
    BUCKET_EXHAUSTED("Emergency refill: an operator's decision, by a reload with a larger budget"),
    /** A settlement reported more than could be charged; the advice names the tenant. */
    SETTLED_EXCESS("Check what the tenant reports");

    private final String advice;

    Kind(String advice) {
      this.advice = advice;
    }

    /**
     * What to do.
     *
     * @return in words
     */
    public String advice() {
      return advice;
    }
  }
}
