package dev.sluice.governor;

import java.time.Duration;

/**
 * When somebody should look at a model.
 *
 * @param interval how often it is looked at
 * @param window over how long rejections are counted, up to now
 * @param rejectionThreshold an alert if more than this part of the requests in the window were put
 *     in line or refused, from 0 to 1
 * @param fromRequests no such alert while there are fewer requests in the window
 * @param maxWaiting an alert if more than these are in line
 * @since 0.1
 */
public record AlertConfig(
    Duration interval,
    Duration window,
    double rejectionThreshold,
    int fromRequests,
    int maxWaiting) {
  // Before DEFAULTS, which they check.
  private static final int MOST = 1_000_000_000;
  private static final Duration SHORTEST_INTERVAL = Duration.ofMillis(100);
  private static final Duration SHORTEST_WINDOW = Duration.ofSeconds(1);
  private static final Duration LONGEST = Duration.ofDays(1);

  /** Every 5 seconds over 60; more than 5 % of at least 20 requests; more than 100 in line. */
  public static final AlertConfig DEFAULTS =
      new AlertConfig(Duration.ofSeconds(5), Duration.ofSeconds(60), 0.05, 20, 100);

  /** Checks every part. */
  public AlertConfig {
    Checks.between("monitor_interval_ms", interval, SHORTEST_INTERVAL, LONGEST);
    Checks.between("alert_window_ms", window, SHORTEST_WINDOW, LONGEST);
    // Also false for what is no number.
    if (!(rejectionThreshold >= 0 && rejectionThreshold <= 1)) {
      throw new IllegalArgumentException(
          "alert_threshold_429 must be from 0 to 1: " + rejectionThreshold);
    }
    Checks.between("alert_min_requests", fromRequests, 1, MOST);
    Checks.between("alert_queue_length", maxWaiting, 0, MOST);
  }
}
