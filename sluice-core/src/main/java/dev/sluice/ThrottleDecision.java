package dev.sluice;

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
}
