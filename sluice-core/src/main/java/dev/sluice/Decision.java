package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.internal.bucket.CellDecisions;
import java.time.Duration;

/**
 * What a bucket answered, and why.
 *
 * <p>One of {@link Granted}, {@link Denied}, {@link Depleted} and {@link Impossible}. More answers
 * about a decision may be added to these interfaces; nobody else implements them.
 *
 * @since 0.1
 */
public sealed interface Decision {

  /**
   * Whether the tokens were granted.
   *
   * @return true exactly for {@link Granted}
   */
  default boolean isGranted() {
    return this instanceof Granted;
  }

  /** The tokens were there and have been taken. */
  sealed interface Granted extends Decision permits CellDecisions.Grant {
    /**
     * Whole tokens left after this grant.
     *
     * @return tokens, at least 0
     */
    long remaining();
  }

  /** Not now; time alone will bring the tokens. */
  sealed interface Denied extends Decision permits CellDecisions.Denial {
    /**
     * How long until the same request can be granted, if nobody else consumes meanwhile.
     *
     * <p>Minimal and sufficient: one nanosecond earlier it is denied, then it is granted. While
     * callers wait in line, it is the least it can be: they are served when a timer wakes.
     *
     * @return nanoseconds, at least 1
     */
    long retryAfterNanos();

    /**
     * {@link #retryAfterNanos()} as a duration.
     *
     * @return a positive duration
     */
    default Duration retryAfter() {
      return Duration.ofNanos(retryAfterNanos());
    }
  }

  /** Not now, and time will not help: only {@link TokenBucket#replenish} adds tokens. */
  sealed interface Depleted extends Decision permits CellDecisions.Depletion {
    /**
     * Tokens missing for this request.
     *
     * @return tokens, at least 1
     */
    long missing();
  }

  /** Never, under this limit: more was asked for than the bucket can hold. */
  sealed interface Impossible extends Decision permits CellDecisions.Impossibility {
    /**
     * The most that can be granted at once.
     *
     * @return tokens, 0 for a bucket that denies everything
     */
    long capacity();
  }

  /**
   * A grant.
   *
   * @param remaining whole tokens left
   * @return the decision
   */
  static Granted granted(long remaining) {
    return new CellDecisions.Grant(remaining);
  }

  /**
   * A denial that time ends.
   *
   * @param retryAfterNanos how long until the tokens are there, at least 1
   * @return the decision
   */
  static Denied denied(long retryAfterNanos) {
    return new CellDecisions.Denial(requirePositive("retryAfterNanos", retryAfterNanos));
  }

  /**
   * A denial that time does not end.
   *
   * @param missing tokens missing
   * @return the decision
   */
  static Depleted depleted(long missing) {
    return new CellDecisions.Depletion(missing);
  }

  /**
   * A denial for ever.
   *
   * @param capacity the most that can be granted at once
   * @return the decision
   */
  static Impossible impossible(long capacity) {
    return new CellDecisions.Impossibility(capacity);
  }
}
