package dev.sluice.governor;

import java.time.Duration;

/**
 * How long things are kept, and how many.
 *
 * @param maxLine how many may be in line for one model
 * @param ticketPatience a ticket that nobody asks for leaves the line after this, and a grant that
 *     nobody claims is given back
 * @param reservationLife a grant that is neither settled nor extended ends after this
 * @since 0.1
 */
public record DeskRules(int maxLine, Duration ticketPatience, Duration reservationLife) {
  // Before DEFAULTS, which they check.
  private static final int MOST_IN_LINE = 1_000_000;
  private static final Duration LONGEST = Duration.ofDays(1);

  /** 10,000 in line, 30 seconds, 10 minutes. */
  public static final DeskRules DEFAULTS =
      new DeskRules(10_000, Duration.ofSeconds(30), Duration.ofMinutes(10));

  /** Checks every part. */
  public DeskRules {
    if (maxLine < 0 || maxLine > MOST_IN_LINE) {
      throw new IllegalArgumentException(
          "maxLine must be from 0 to %d: %d".formatted(MOST_IN_LINE, maxLine));
    }
    requireDuration("ticketPatience", ticketPatience);
    requireDuration("reservationLife", reservationLife);
  }

  private static void requireDuration(String name, Duration value) {
    if (value.isNegative() || value.isZero() || value.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "%s must be above 0 and at most %s: %s".formatted(name, LONGEST, value));
    }
  }
}
