package dev.sluice.governor.redis;

import dev.sluice.redis.connection.ConnectionConfig;
import org.jspecify.annotations.Nullable;

/**
 * Redis did not answer in time, so nobody knows what became of what was asked for; it may have been
 * done.
 *
 * @since 0.1
 */
public final class BudgetUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final boolean asked;

  public BudgetUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
    this.asked = true;
  }

  /** While Redis is known to be away: without a stack trace, for many calls fail with it. */
  private BudgetUnavailableException(String message, boolean asked) {
    super(message, null, false, false);
    this.asked = asked;
  }

  /** It is not known here, but Redis will be told. */
  public static BudgetUnavailableException kept(String what) {
    return new BudgetUnavailableException(
        "Redis does not answer; it is kept, and sent when Redis is back: " + what, true);
  }

  /** What calls to Redis fail with. */
  public static ConnectionConfig.Failures failures() {
    return new ConnectionConfig.Failures() {
      @Override
      public RuntimeException notAsked() {
        return new BudgetUnavailableException("Redis does not answer; it is tried again", false);
      }

      @Override
      public RuntimeException unanswered(String message, @Nullable Throwable cause) {
        return new BudgetUnavailableException(message, cause);
      }
    };
  }

  /** Whether that is why something failed. */
  public static boolean isCauseOf(Throwable failure) {
    return in(failure) != null;
  }

  /** Whether Redis was not even asked. */
  public static boolean isBeforeAsking(Throwable failure) {
    BudgetUnavailableException away = in(failure);
    return away != null && !away.asked;
  }

  private static @Nullable BudgetUnavailableException in(Throwable failure) {
    Throwable cause = failure instanceof BudgetUnavailableException ? failure : failure.getCause();
    return cause instanceof BudgetUnavailableException away ? away : null;
  }
}
