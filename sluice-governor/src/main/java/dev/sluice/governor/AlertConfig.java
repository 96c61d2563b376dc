package dev.sluice.governor;

import static dev.sluice.internal.util.Preconditions.requireBetween;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Thresholds of the alerts, for all models. Immutable.
 *
 * @since 0.1
 */
public final class AlertConfig {
  private static final int MAX_COUNT = 1_000_000_000;
  private static final Duration SHORTEST_INTERVAL = Duration.ofMillis(100);
  private static final Duration SHORTEST_WINDOW = Duration.ofSeconds(1);
  private static final Duration DAY = Duration.ofDays(1);

  private final Values values;

  private record Values(
      Duration interval,
      Duration window,
      double rejectionThreshold,
      int minRequests,
      int maxWaiting) {
    Values {
      requireBetween("monitor_interval_ms", interval, SHORTEST_INTERVAL, DAY);
      requireBetween("alert_window_ms", window, SHORTEST_WINDOW, DAY);
      // The negation also rejects NaN.
      if (!(rejectionThreshold >= 0 && rejectionThreshold <= 1)) {
        throw new IllegalArgumentException(
            "alert_threshold_429 must be from 0 to 1, but was " + rejectionThreshold);
      }
      requireBetween("alert_min_requests", minRequests, 1, MAX_COUNT);
      requireBetween("alert_queue_length", maxWaiting, 0, MAX_COUNT);
    }
  }

  private AlertConfig(Values values) {
    this.values = values;
  }

  /**
   * Returns a builder with the defaults: every 5 seconds over 60; more than 5 % of at least 20
   * requests rejected; more than 100 waiting.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns the time between two checks of a model.
   *
   * @return from 100 milliseconds to a day
   */
  public Duration interval() {
    return values.interval();
  }

  /**
   * Returns the time over which rejections are counted, up to now.
   *
   * @return from a second to a day
   */
  public Duration window() {
    return values.window();
  }

  /**
   * Returns the part of the requests in the window above which an alert is raised if they were
   * queued or denied.
   *
   * @return from 0 to 1
   */
  public double rejectionThreshold() {
    return values.rejectionThreshold();
  }

  /**
   * Returns the number of requests in the window below which no alert about rejections is raised.
   *
   * @return at least 1
   */
  public int minRequests() {
    return values.minRequests();
  }

  /**
   * Returns the number of waiting requests above which an alert is raised.
   *
   * @return at least 0
   */
  public int maxWaiting() {
    return values.maxWaiting();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof AlertConfig that && values.equals(that.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return "AlertConfig" + values;
  }

  /** Builds an {@link AlertConfig}. Not thread-safe. */
  public static final class Builder {
    private Duration interval = Duration.ofSeconds(5);
    private Duration window = Duration.ofSeconds(60);
    private double rejectionThreshold = 0.05;
    private int minRequests = 20;
    private int maxWaiting = 100;

    private Builder() {}

    /**
     * Sets {@link AlertConfig#interval}.
     *
     * @param time from 100 milliseconds to a day
     * @return this
     */
    public Builder interval(Duration time) {
      interval = time;
      return this;
    }

    /**
     * Sets {@link AlertConfig#window}.
     *
     * @param time from a second to a day
     * @return this
     */
    public Builder window(Duration time) {
      window = time;
      return this;
    }

    /**
     * Sets {@link AlertConfig#rejectionThreshold}.
     *
     * @param part from 0 to 1
     * @return this
     */
    public Builder rejectionThreshold(double part) {
      rejectionThreshold = part;
      return this;
    }

    /**
     * Sets {@link AlertConfig#minRequests}.
     *
     * @param requests at least 1
     * @return this
     */
    public Builder minRequests(int requests) {
      minRequests = requests;
      return this;
    }

    /**
     * Sets {@link AlertConfig#maxWaiting}.
     *
     * @param requests at least 0
     * @return this
     */
    public Builder maxWaiting(int requests) {
      maxWaiting = requests;
      return this;
    }

    /**
     * Builds the configuration.
     *
     * @return the configuration
     * @throws IllegalArgumentException if a value is out of range
     */
    public AlertConfig build() {
      return new AlertConfig(
          new Values(interval, window, rejectionThreshold, minRequests, maxWaiting));
    }
  }
}
