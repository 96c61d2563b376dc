package dev.sluice.client;

import java.time.Duration;

/**
 * The decision of the server.
 *
 * @since 0.1
 */
public sealed interface LimitDecision {
  /**
   * Whether to go.
   *
   * @return true if the tokens were taken
   */
  default boolean isGranted() {
    return this instanceof Granted;
  }

  /** The tokens were taken. */
  record Granted() implements LimitDecision {}

  /**
   * Not now; time alone will bring the tokens.
   *
   * @param bindingKey the key that binds
   * @param retryAfter when the same request can be granted if nobody else takes tokens
   */
  record Denied(String bindingKey, Duration retryAfter) implements LimitDecision {}

  /**
   * Not now, and time will not help: the rate is 0.
   *
   * @param bindingKey the key that binds
   */
  record Depleted(String bindingKey) implements LimitDecision {}

  /**
   * Never: the cost is more than the burst.
   *
   * @param bindingKey the key that binds
   * @param burst its burst
   */
  record Impossible(String bindingKey, double burst) implements LimitDecision {}
}
