package dev.sluice.redis;

import org.jspecify.annotations.Nullable;

/**
 * Redis did not answer in time, and the operation has no outcome of its own in an outage.
 *
 * <p>Decisions do not fail with it: they follow the {@link OutageMode}.
 *
 * @since 0.1
 */
public final class RedisUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final boolean applicable;

  /**
   * Creates a failure of an operation that may have been applied.
   *
   * @param message what happened
   * @param cause the failure of the connection; null if there is none
   */
  public RedisUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
    this.applicable = true;
  }

  /**
   * Creates a failure without a stack trace, for many calls that fail at once on a thread of the
   * connection.
   *
   * @param message what happened
   * @param cause the failure of the connection; null if there is none
   * @param mayBeApplied false if the call was never sent
   */
  public RedisUnavailableException(
      String message, @Nullable Throwable cause, boolean mayBeApplied) {
    super(message, cause, false, false);
    this.applicable = mayBeApplied;
  }

  /**
   * Returns whether Redis may have applied the operation.
   *
   * @return false if the call was never sent
   */
  public boolean mayBeApplied() {
    return applicable;
  }
}
