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

  /** Whether Redis was asked at all. */
  private final boolean asked;

  LimitsUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
    this.asked = true;
  }

  /** While Redis is known to be away: without a stack trace, for many calls fail with it. */
  LimitsUnavailableException() {
    super("Redis does not answer; it is tried again", null, false, false);
    this.asked = false;
  }

  /** What calls to Redis fail with. */
  static LinkTerms.Failures failures() {
    return new LinkTerms.Failures() {
      @Override
      public RuntimeException notAsked() {
        return new LimitsUnavailableException();
      }

      @Override
      public RuntimeException unanswered(String message, @Nullable Throwable cause) {
        return new LimitsUnavailableException(message, cause);
      }
    };
  }

  static boolean isBeforeAsking(@Nullable Throwable failure) {
    return failure instanceof LimitsUnavailableException unavailable && !unavailable.asked;
  }
}
