package dev.sluice.redis;

import dev.sluice.redis.link.LinkTerms;
import org.jspecify.annotations.Nullable;

/**
 * Redis did not answer in time, and what was asked for has no answer of its own in an outage.
 *
 * <p>Decisions never fail with it: those follow the {@link OutagePolicy}.
 *
 * @since 0.1
 */
public final class LimitsUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1;

  LimitsUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  private LimitsUnavailableException(
      String message, @Nullable Throwable cause, boolean writableStackTrace) {
    super(message, cause, false, writableStackTrace);
  }

  /** Has no stack trace: many calls fail at once, on a thread that has nothing to do with them. */
  private static LimitsUnavailableException ofMany(String message, @Nullable Throwable cause) {
    return new LimitsUnavailableException(message, cause, false);
  }

  /** What calls to Redis fail with. */
  static LinkTerms.Failures failures() {
    return new LinkTerms.Failures() {
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
