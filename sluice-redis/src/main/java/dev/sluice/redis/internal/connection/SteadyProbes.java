package dev.sluice.redis.internal.connection;

/**
 * Counts the answers to probes in a row, and knows how many of them a return needs. Used on the
 * thread of the fleet only.
 */
final class SteadyProbes {
  /** A server that flaps is left alone. */
  private static final int STEADY = 3;

  /**
   * Each return that fails doubles the number of probes before the next, so many times at most: the
   * outage mode, which decides nothing during a return, has most of the time.
   */
  private static final int MOST_DOUBLINGS = 4;

  private int answered;
  private int failedReturns;

  /** Redis was lost, or did not answer a probe. */
  void restart() {
    answered = 0;
  }

  /**
   * Counts one answer; returns whether a return may begin.
   *
   * @param isFirst whether this node has never been a member
   */
  boolean answered(boolean isFirst) {
    answered++;
    return answered >= (isFirst ? 1 : STEADY) << Math.min(failedReturns, MOST_DOUBLINGS);
  }

  void returnFailed() {
    failedReturns++;
  }

  void returned() {
    failedReturns = 0;
  }
}
