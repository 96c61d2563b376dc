package dev.sluice.bench.core;

/** A rate limiter under test: one permit, now or not at all. */
@FunctionalInterface
interface Limiter {

  /**
   * Asks for one permit.
   *
   * @param tick a counter of the calling thread, for those that take the time from their caller
   * @return whether it was granted
   */
  boolean tryAcquire(long tick);
}
