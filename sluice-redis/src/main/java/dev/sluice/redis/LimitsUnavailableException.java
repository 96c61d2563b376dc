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

  /** Without a stack trace: many calls fail at once, on a thread that says nothing about them. */
  private LimitsUnavailableException(String message, @Nullable Throwable cause, boolean asked) {
    super(message, cause, false, false);
    this.asked = asked;
  }

  /** What calls to Redis fail with. */
  static LinkTerms.Failures failures() {
    return new LinkTerms.Failures() {
      @Override
      public RuntimeException notAsked() {
        return new LimitsUnavailableException(
            "Redis does not answer; it is tried again", null, false);
      }

      @Override
      public RuntimeException unanswered(String message, @Nullable Throwable cause) {
        return new LimitsUnavailableException(message, cause, true);
      }
    };
  }

  static boolean isBeforeAsking(@Nullable Throwable failure) {
    return failure instanceof LimitsUnavailableException unavailable && !unavailable.asked;
  }
}
