package dev.sluice.cli;

/**
 * When nobody was served because the server was gone, on a clock of milliseconds.
 *
 * @param fromMillis the last that happened before
 * @param untilMillis the first that happened after
 */
record Outage(long fromMillis, long untilMillis) {
  static final Outage NONE = new Outage(0, 0);

  /** The pause in {@code sorted} in which {@code restart} falls; none if it falls outside. */
  static Outage around(long restartMillis, long[] sorted) {
    for (int i = 1; i < sorted.length; i++) {
      if (sorted[i - 1] <= restartMillis && sorted[i] > restartMillis) {
        return new Outage(sorted[i - 1], sorted[i]);
      }
    }
    return NONE;
  }

  long millis() {
    return untilMillis - fromMillis;
  }

  /** From one instant to a later one without the outage; never less than 0. */
  long waited(long arrivedMillis, long servedMillis) {
    long hit = Math.min(servedMillis, untilMillis) - Math.max(arrivedMillis, fromMillis);
    return Math.max(0, servedMillis - arrivedMillis - Math.max(0, hit));
  }
}
