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
   * @param share the part of every budget that this node grants by itself meanwhile, from 0 to 1
   */
  default void lost(String cause, double share) {}

  /**
   * Redis decides again.
   *
   * @param away for how long it was lost
   * @param granted tokens that this node has granted meanwhile
   */
  default void returned(Duration away, long granted) {}

  /**
   * Redis answers, but will not do what it is asked; told about once a second.
   *
   * @param error what it says
   */
  default void refused(String error) {}
}
