package dev.sluice.cli.demo;

import java.time.Duration;

/**
 * The size of a demo. Its steps follow progress, not time: a slow machine shows the same, only
 * later.
 *
 * @param flood messages that the noisy tenant sends before any consumer starts
 * @param secondFlood messages that it sends halfway, while the server is killed
 */
public record DemoScenario(int flood, int secondFlood) {
  static final DemoScenario FULL = new DemoScenario(8_000, 1_000);
  static final DemoScenario QUICK = new DemoScenario(2_400, 300);

  /** The limit of the provider for both tenants together. */
  static final int RATE_PER_SECOND = 200;

  static final int BURST = 20;

  /** The pause between two messages of the quiet tenant, if the first was answered. */
  static final Duration QUIET_PAUSE = Duration.ofMillis(25);

  /** The quiet tenant's p99 wait must be so many times shorter than in one FIFO. */
  static final int TIMES_SHORTER = 20;

  public static final String QUEUE = "calls";
  static final String PROVIDER = "provider";
  public static final String NOISY = "noisy";
  public static final String QUIET = "quiet";

  /** Delivered of the noisy tenant when the server is killed. */
  long crashAfter() {
    return flood / 2;
  }

  /** Deliveries of the noisy tenant after which no new work starts. */
  long endAfter() {
    return (flood + secondFlood) * 9L / 10;
  }
}
