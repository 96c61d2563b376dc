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
   */
  default void lost(String cause) {}

  /**
   * Redis decides again.
   *
   * @param away for how long it was lost
   */
  default void returned(Duration away) {}

  /**
   * Redis answers, but will not do what it is asked; told about once a second.
   *
   * @param error what it says
   */
  default void refused(String error) {}
}
