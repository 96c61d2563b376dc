package dev.sluice.redis.internal.connection;

/**
 * Estimates the time of the Redis server, never ahead of it: a deadline that is computed from this
 * estimate passes in Redis no later than it passes here.
 *
 * <p>An answer that carries the time T and arrives at t shows that the server is at least T − t
 * ahead of this node's clock. The largest of the last few such differences is the closest bound;
 * older ones are dropped because clocks drift and step, and at once when an answer shows that the
 * estimate was ahead of the server.
 *
 * <p>Thread-safe.
 */
public final class RedisClock {
  private static final int SAMPLES = 8;
  private static final long NANOS_PER_MICRO = 1_000;

  // Guarded by this.
  private final long[] offsets = new long[SAMPLES];
  private int count;

  private volatile long offsetMicros;

  /**
   * Takes in an answer with the server's time.
   *
   * @param sentNanos when the call was sent: the server's time was not later then
   * @param receivedNanos when the answer arrived
   */
  synchronized void sample(long serverMicros, long sentNanos, long receivedNanos) {
    if (count > 0 && microsAt(sentNanos) > serverMicros) {
      // The server's clock went back, or this one runs faster.
      count = 0;
    }
    offsets[count++ % SAMPLES] = serverMicros - Math.floorDiv(receivedNanos, NANOS_PER_MICRO) - 1;
    long best = Long.MIN_VALUE;
    for (int i = 0; i < Math.min(count, SAMPLES); i++) {
      best = Math.max(best, offsets[i]);
    }
    offsetMicros = best;
  }

  /** Returns the server's time at a moment of this node's clock, in microseconds. */
  long microsAt(long nanos) {
    return Math.floorDiv(nanos, NANOS_PER_MICRO) + offsetMicros;
  }

  /** Returns the server's time at a moment of this node's clock, in nanoseconds. */
  long nanosAt(long nanos) {
    return nanos + offsetMicros * NANOS_PER_MICRO;
  }
}
