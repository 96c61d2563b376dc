package dev.sluice.redis;

import java.time.Duration;

/**
 * Receives the start and the end of outages of Redis, and errors that Redis returns.
 *
 * <p>Called in order on a library thread; must not block. Exceptions that it throws are logged.
 *
 * @since 0.1
 */
public interface OutageListener {
  /** A listener that does nothing. */
  OutageListener NONE = new OutageListener() {};

  /**
   * Redis does not answer; the {@link OutageMode} decides from now on.
   *
   * @param cause what went wrong, as far as it is known
   * @param share the part of every limit that this node may grant in mode {@link OutageMode#LOCAL},
   *     from 0 to 1
   */
  default void outageStarted(String cause, double share) {}

  /**
   * Redis answers again and decides from now on.
   *
   * @param length how long it was unavailable
   * @param grantedTokens the tokens that this node granted meanwhile
   */
  default void outageEnded(Duration length, long grantedTokens) {}

  /**
   * Redis answers, but with an error, such as a missing permission. Not an outage.
   *
   * @param message the error
   */
  default void redisError(String message) {}
}
