package dev.sluice.server;

/*
 * The frames that make up calls are free: whoever sends them is bounded by what calls cost. The
 * others have a price, because the server works for them and nobody is served. A client gets them
 * with time, and for each frame of an answer, since that is what a well-behaved client reacts to:
 * a window update for what it has read, a ping to measure the link, a call cancelled among others.
 */

/** How many control frames and resets one HTTP/2 connection may still send. Not thread-safe. */
final class FrameAllowance {
  static final int START = 1_000;
  static final int PER_SECOND = 100;

  /** For each frame of an answer. */
  static final int EARNED = 2;

  /** For the last one: a client may reset the call that it heard the end of. */
  static final int EARNED_BY_END = 12;

  /** Of what calls for work and is seldom needed: settings, resets of calls just begun. */
  static final int DEAR = 10;

  /** Of a violation of the protocol for which the server resets a call: clients do not do that. */
  static final int INDUCED = 50;

  private static final int MAX = 10_000;
  private static final long NANOS_EACH = 1_000_000_000L / PER_SECOND;

  private long left = START;
  private long countedNanos;

  FrameAllowance(long nowNanos) {
    this.countedNanos = nowNanos;
  }

  void earn(int frames) {
    left = Math.min(MAX, left + frames);
  }

  /** Returns false if the allowance is used up. */
  boolean spend(int price, long nowNanos) {
    if (left < price) {
      long more = (nowNanos - countedNanos) / NANOS_EACH;
      countedNanos += more * NANOS_EACH;
      left = Math.min(START, left + more);
    }
    left -= price;
    return left >= 0;
  }
}
