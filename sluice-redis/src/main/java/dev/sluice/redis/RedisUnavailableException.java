package dev.sluice.redis;

import dev.sluice.redis.connection.ConnectionConfig;
import org.jspecify.annotations.Nullable;

/**
 * Redis did not answer in time, and what was asked for has no answer of its own in an outage.
 *
 * <p>Decisions never fail with it: those follow the {@link OutageMode}.
 *
 * @since 0.1
 */
public final class RedisUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public RedisUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  private RedisUnavailableException(
      String message, @Nullable Throwable cause, boolean writableStackTrace) {
    super(message, cause, false, writableStackTrace);
  }

  /** Has no stack trace: many calls fail at once, on a thread that has nothing to do with them. */
  private static RedisUnavailableException ofMany(String message, @Nullable Throwable cause) {
    return new RedisUnavailableException(message, cause, false);
  }

  /** What calls to Redis fail with. */
  public static ConnectionConfig.Failures failures() {
    return new ConnectionConfig.Failures() {
      @Override
      public RuntimeException notAsked() {
        return ofMany("Redis does not answer; it is tried again", null);
      }

      @Override
      public RuntimeException unanswered(String message, @Nullable Throwable cause) {
        return ofMany(message, cause);
      }
    };
  }
}
