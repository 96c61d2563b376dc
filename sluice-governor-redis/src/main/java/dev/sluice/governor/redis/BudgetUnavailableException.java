package dev.sluice.governor.redis;

import dev.sluice.redis.link.LinkTerms;
import org.jspecify.annotations.Nullable;

/**
 * Redis did not answer in time, so nobody knows what became of what was asked for; it may have been
 * done.
 *
 * @since 0.1
 */
public final class BudgetUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1;

  BudgetUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  /** While Redis is known to be away: without a stack trace, for many calls fail with it. */
  private BudgetUnavailableException() {
    super("Redis does not answer; it is tried again", null, false, false);
  }

  /** What calls to Redis fail with. */
  static LinkTerms.Failures failures() {
    return new LinkTerms.Failures() {
      @Override
      public RuntimeException notAsked() {
        return new BudgetUnavailableException();
      }

      @Override
      public RuntimeException unanswered(String message, @Nullable Throwable cause) {
        return new BudgetUnavailableException(message, cause);
      }
    };
  }

  /** Whether that is why something failed. */
  static boolean isCauseOf(Throwable failure) {
    return failure instanceof BudgetUnavailableException
        || failure.getCause() instanceof BudgetUnavailableException;
  }
}
