package dev.sluice.server.grpc;

/*
 * The frames that make up calls are free, because calls have bounds of their own. The others have a
 * price, because the server works for them and serves no call. A client earns allowance with time,
 * and with each frame of an answer, since a well-behaved client reacts to those: by a window update
 * for bytes it has read, a ping to measure the link, a call canceled among others.
 */

/** Limits the control frames and resets of one HTTP/2 connection. Not thread-safe. */
final class ControlFrameLimiter {
  static final int START = 1_000;
  static final int PER_SECOND = 100;

  /** Earned by each frame of an answer. */
  static final int EARNED = 2;

  /** Earned by the last frame of an answer; it also pays for a reset of that call. */
  static final int EARNED_BY_END = 12;

  /** The price of frames that cost work and are rare: settings, resets of calls just begun. */
  static final int DEAR = 10;

  /** The price of a protocol violation that makes the server reset a call. */
  static final int INDUCED = 50;

  private static final int MAX = 10_000;
  private static final long NANOS_EACH = 1_000_000_000L / PER_SECOND;

  private long left = START;
  private long countedNanos;

  ControlFrameLimiter(long nowNanos) {
    this.countedNanos = nowNanos;
  }

  void earn(int frames) {
    left = Math.min(MAX, left + frames);
  }

  /** Pays {@code price}; returns false if the allowance does not suffice. */
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
