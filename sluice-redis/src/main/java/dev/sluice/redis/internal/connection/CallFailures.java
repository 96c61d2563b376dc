package dev.sluice.redis.internal.connection;

import dev.sluice.redis.RedisUnavailableException;
import org.jspecify.annotations.Nullable;

/**
 * Creates the exceptions of calls without an answer. They have no stack trace: many calls fail at
 * once, on a thread that did not make them.
 */
final class CallFailures {
  private CallFailures() {}

  /** Returns the failure of a call that was not sent because Redis is known to be unavailable. */
  static RedisUnavailableException notSent() {
    return new RedisUnavailableException(
        "Redis does not answer; the connection is being restored", null, false);
  }

  /** Returns the failure of a call that Redis may have executed. */
  static RedisUnavailableException unanswered(String message, @Nullable Throwable cause) {
    return new RedisUnavailableException(message, cause, true);
  }
}
