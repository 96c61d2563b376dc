package dev.sluice.governor;

import java.time.Duration;

/**
 * How long things are kept, and how many.
 *
 * @param maxLine how many may be in line for one model, all its classes together
 * @param ticketPatience a ticket that nobody asks for leaves the line after this, and a grant that
 *     nobody claims is given back
 * @param reservationLife a grant that is neither settled nor extended ends after this
 * @param drainBatch how many are granted from the line before others get a word in; it goes on
 *     while tokens last
 * @param refillInterval the line is looked at, and a refill is logged, once in this time: at least
 *     the one, at most the other
 * @since 0.1
 */
public record WaitingListConfig(
    int maxLine,
    Duration ticketPatience,
    Duration reservationLife,
    int drainBatch,
    Duration refillInterval) {
  // Before DEFAULTS, which they check.
  private static final int MOST_IN_LINE = 1_000_000;
  private static final int LARGEST_BATCH = 10_000;
  private static final Duration SHORTEST = Duration.ofMillis(1);
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration LONGEST = Duration.ofDays(1);

  /** 10,000 in line, 30 seconds, 10 minutes; 10 at a time, a minute. */
  public static final WaitingListConfig DEFAULTS =
      new WaitingListConfig(
          10_000, Duration.ofSeconds(30), Duration.ofMinutes(10), 10, Duration.ofSeconds(60));

  /** Checks every part. */
  public WaitingListConfig {
    Checks.between("max_waiting", maxLine, 0, MOST_IN_LINE);
    Checks.between("ticket_idle_timeout_ms", ticketPatience, SHORTEST, LONGEST);
    Checks.between("reservation_timeout_ms", reservationLife, SHORTEST, LONGEST);
    Checks.between("drain_batch", drainBatch, 1, LARGEST_BATCH);
    Checks.between("refill_interval_ms", refillInterval, SECOND, LONGEST);
  }
}
