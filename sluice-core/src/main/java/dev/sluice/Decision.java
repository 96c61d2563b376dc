package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requireNonNegative;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import java.time.Duration;
import java.util.Objects;

/**
 * The answer to a request for tokens: granted, or the reason why not and when it can be.
 *
 * <p>If several limits deny a request, the decision names the one that needs the longest: a limit
 * that can never provide the tokens comes before one that time does not refill, and that before all
 * others.
 *
 * @since 0.1
 */
public sealed interface Decision {

  /**
   * Returns whether the tokens were granted.
   *
   * @return true exactly for {@link Granted}
   */
  default boolean isGranted() {
    return this instanceof Granted;
  }

  /**
   * The tokens were available and have been taken.
   *
   * @param remaining whole tokens left after this grant; the smallest over all limits, {@link
   *     Long#MAX_VALUE} if no limit applies
   */
  record Granted(long remaining) implements Decision {
    public Granted {
      requireNonNegative("remaining", remaining);
    }
  }

  /**
   * The tokens are not available now; time alone brings them back.
   *
   * @param limitName the limit that needs the longest; empty for a bucket without a name
   * @param retryAfterNanos nanoseconds until the same request can be granted if no other caller
   *     acquires meanwhile, at least 1: one nanosecond earlier it is denied, then it is granted. If
   *     callers wait for tokens, it is the least it can be, as a timer serves them
   */
  record Denied(String limitName, long retryAfterNanos) implements Decision {
    public Denied {
      Objects.requireNonNull(limitName, "limitName");
      requirePositive("retryAfterNanos", retryAfterNanos);
    }

    /**
     * Returns {@link #retryAfterNanos()} as a duration.
     *
     * @return a positive duration
     */
    public Duration retryAfter() {
      return Duration.ofNanos(retryAfterNanos);
    }
  }

  /**
   * The tokens are not available and time does not bring them back: the limit does not refill.
   *
   * @param limitName the limit that is used up; empty for a bucket without a name
   * @param missing tokens missing for this request, at least 1
   */
  record Depleted(String limitName, long missing) implements Decision {
    public Depleted {
      Objects.requireNonNull(limitName, "limitName");
      requirePositive("missing", missing);
    }
  }

  /**
   * The tokens can never be granted under this limit: the request exceeds its capacity.
   *
   * @param limitName the limit that is too small; empty for a bucket without a name
   * @param capacity the most tokens it can grant at once, 0 if it denies everything
   */
  record Impossible(String limitName, long capacity) implements Decision {
    public Impossible {
      Objects.requireNonNull(limitName, "limitName");
      requireNonNegative("capacity", capacity);
    }
  }
}
