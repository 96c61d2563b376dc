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
   * @param nodes the nodes last seen alive, among which a {@link OutagePolicy#LOCAL} limit is
   *     divided
   */
  record Lost(String cause, int nodes) implements LimitsEvent {}

  /**
   * Redis answers again and decides from now on.
   *
   * @param away how long it did not
   * @param keys how many keys had been granted meanwhile by their share
   * @param tokens how many tokens those were
   * @param charged how many of them were charged to their limits now; older ones would have come
   *     back already
   */
  record Returned(Duration away, int keys, long tokens, long charged) implements LimitsEvent {}

  /**
   * Redis answers, but refuses what it was asked: somebody must look.
   *
   * @param cause its error
   */
  record Refused(String cause) implements LimitsEvent {}
}
