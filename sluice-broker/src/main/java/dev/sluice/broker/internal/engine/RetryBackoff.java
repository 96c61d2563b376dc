package dev.sluice.broker.internal.engine;

import dev.sluice.broker.QueueConfig;

/*
 * After failure n the bound is retryDelay * 2^(n-1), at most maxRetryDelay, and the delay lies
 * between half of the bound and all of it. As the bound doubles, no delay is shorter than the one
 * before, until the bound stops growing.
 *
 * The delay is spread by a hash of the message and the attempt, not by a random number: the state
 * machine does the same for the same inputs, and messages that failed together come back apart.
 */

/** Computes how long a message that failed waits before it is tried again. */
public final class RetryBackoff {
  private RetryBackoff() {}

  /**
   * Returns a delay in nanoseconds.
   *
   * @param sequence the number of the message
   * @param attempts failures, the one at hand included; at least 1
   */
  public static long delayNanos(QueueConfig config, long sequence, int attempts) {
    long bound = boundNanos(config, attempts);
    long half = bound / 2;
    return bound - scaled(mix(mix(sequence) + attempts), half);
  }

  private static long boundNanos(QueueConfig config, int attempts) {
    long first = config.retryDelay().toNanos();
    long max = config.maxRetryDelay().toNanos();
    int doublings = Math.min(attempts - 1, Long.SIZE - 2);
    return first > max >> doublings ? max : first << doublings;
  }

  /** Maps {@code hash}, any number, evenly to 0 up to {@code most}. */
  private static long scaled(long hash, long max) {
    return Math.multiplyHigh(hash >>> 1, (max + 1) << 1);
  }

  /** The finalizer of SplitMix64. */
  private static long mix(long number) {
    long z = number + 0x9e3779b97f4a7c15L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }
}
