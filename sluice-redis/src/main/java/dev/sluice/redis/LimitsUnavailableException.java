package dev.sluice.redis;

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
}
