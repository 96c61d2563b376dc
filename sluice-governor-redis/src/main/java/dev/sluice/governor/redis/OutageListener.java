package dev.sluice.governor.redis;

import java.time.Duration;

/**
 * Who is told when Redis is lost and when it is back. Called on a thread of the library, in order;
 * must not block. What it throws is logged.
 *
 * @since 0.1
 */
public interface OutageListener {
  /** Does nothing. */
  OutageListener NONE = new OutageListener() {};

  /**
   * Redis does not answer.
   *
   * @param cause as far as it is known
   * @param nodes among how many the budgets are divided meanwhile
   */
  default void lost(String cause, int nodes) {}

  /**
   * Redis decides again.
   *
   * @param away for how long it was lost
   * @param granted tokens that this node has granted meanwhile
   * @param charged how many of them Redis is told to charge: not what was given back
   */
  default void returned(Duration away, long granted, long charged) {}

  /**
   * Redis answers, but will not do what it is asked; told about once a second.
   *
   * @param error what it says
   */
  default void refused(String error) {}
}
