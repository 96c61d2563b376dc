package dev.sluice.redis;

import java.time.Duration;

/**
 * Something that whoever runs the fleet wants to know.
 *
 * <p>One of {@link Lost}, {@link Returned} and {@link Refused}.
 *
 * @since 0.1
 */
public sealed interface LimitsEvent {

  /**
   * Redis does not answer; from now on outage policies decide.
   *
   * @param cause what went wrong
   * @param share the part of each limit that a {@link OutageMode#LOCAL} limiter of this node may
   *     grant meanwhile, from 0 to 1
   */
  record Lost(String cause, double share) implements LimitsEvent {}

  /**
   * Redis answers again and decides from now on.
   *
   * @param away how long it did not
   * @param keys how many keys this node decided about by its share
   * @param tokens how many tokens it granted
   */
  record Returned(Duration away, int keys, long tokens) implements LimitsEvent {}

  /**
   * Redis answers, but refuses what it was asked: somebody must look.
   *
   * @param cause its error
   */
  record Refused(String cause) implements LimitsEvent {}
}
