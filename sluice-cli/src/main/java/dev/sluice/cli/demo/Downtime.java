package dev.sluice.cli.demo;

/**
 * The time without grants because the server was down, on a clock of milliseconds.
 *
 * @param fromMillis the last that happened before
 * @param untilMillis the first that happened after
 */
public record Downtime(long fromMillis, long untilMillis) {
  public static final Downtime NONE = new Downtime(0, 0);

  /** The pause in {@code sorted} in which {@code restart} falls; none if it falls outside. */
  public static Downtime around(long restartMillis, long[] sorted) {
    for (int i = 1; i < sorted.length; i++) {
      if (sorted[i - 1] <= restartMillis && sorted[i] > restartMillis) {
        return new Downtime(sorted[i - 1], sorted[i]);
      }
    }
    return NONE;
  }

  public long millis() {
    return untilMillis - fromMillis;
  }

  /** Returns the time between two instants without the outage; at least 0. */
  public long waited(long arrivedMillis, long servedMillis) {
    long hit = Math.min(servedMillis, untilMillis) - Math.max(arrivedMillis, fromMillis);
    return Math.max(0, servedMillis - arrivedMillis - Math.max(0, hit));
  }
}
