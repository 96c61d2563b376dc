package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requirePositive;

import java.time.Duration;

/**
 * What a throttle answered, and which key is to blame.
 *
 * <p>One of {@link Granted}, {@link Denied}, {@link Depleted} and {@link Impossible}. More answers
 * about a decision may be added to these interfaces; nobody else implements them.
 *
 * <p>If several keys refuse, the binding one is that with the longest wait: one that can never
 * grant the cost comes before one that time does not refill, and that before all others.
 *
 * @since 0.1
 */
public sealed interface ThrottleDecision {

  /**
   * Whether all keys granted.
   *
   * @return true exactly for {@link Granted}
   */
  default boolean isGranted() {
    return this instanceof Granted;
  }

  /** Every key had its tokens, or has no rate. */
  sealed interface Granted extends ThrottleDecision permits ThrottleDecisions.Grant {}

  /** Not now; time alone will bring the tokens. */
  sealed interface Denied extends ThrottleDecision permits ThrottleDecisions.Denial {
    /**
     * The key that needs the longest.
     *
     * @return one of the keys asked for
     */
    String bindingKey();

    /**
     * How long until the same request can be granted by all its keys, if nobody else consumes
     * meanwhile.
     *
     * <p>Minimal and sufficient: one nanosecond earlier it is denied, then it is granted.
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

  /** Not now, and time will not help: the binding key has a rate of 0. */
  sealed interface Depleted extends ThrottleDecision permits ThrottleDecisions.Depletion {
    /**
     * The key that is used up.
     *
     * @return one of the keys asked for
     */
    String bindingKey();
  }

  /** Never, at this rate: the cost is more than the binding key's burst. */
  sealed interface Impossible extends ThrottleDecision permits ThrottleDecisions.Impossibility {
    /**
     * The key that cannot hold as many tokens.
     *
     * @return one of the keys asked for
     */
    String bindingKey();

    /**
     * The burst of the binding key.
     *
     * @return tokens; below 1 for a key that grants nothing
     */
    double burst();
  }

  /**
   * A grant of all keys.
   *
   * @return the decision; always the same
   */
  static Granted granted() {
    return ThrottleDecisions.GRANT;
  }

  /**
   * A denial that time ends.
   *
   * @param bindingKey the key that needs the longest
   * @param retryAfterNanos how long until it can be granted, at least 1
   * @return the decision
   */
  static Denied denied(String bindingKey, long retryAfterNanos) {
    return new ThrottleDecisions.Denial(
        bindingKey, requirePositive("retryAfterNanos", retryAfterNanos));
  }

  /**
   * A denial that time does not end.
   *
   * @param bindingKey the key that is used up
   * @return the decision
   */
  static Depleted depleted(String bindingKey) {
    return new ThrottleDecisions.Depletion(bindingKey);
  }

  /**
   * A denial for ever.
   *
   * @param bindingKey the key that cannot hold as many tokens
   * @param burst the most it holds
   * @return the decision
   */
  static Impossible impossible(String bindingKey, double burst) {
    return new ThrottleDecisions.Impossibility(bindingKey, burst);
  }
}
