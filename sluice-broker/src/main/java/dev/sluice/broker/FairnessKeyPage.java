package dev.sluice.broker;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Statistics of fairness keys of a queue: the first ones in some order, and sums over all.
 *
 * @param active the number of keys with messages
 * @param waiting the number of keys with messages that wait for a consumer
 * @param readyWeight the sum of the weights of waiting keys that are not throttled: the share of a
 *     key is its weight divided by this
 * @param matching the number of keys with the requested prefix, including remembered ones without
 *     messages
 * @param rows the first keys
 * @since 0.1
 */
public record FairnessKeyPage(
    long active, long waiting, long readyWeight, long matching, List<FairnessKeyPage.Row> rows) {
  /** The order of the keys. */
  public enum Order {
    /** By messages, most first. */
    DEPTH,
    /** By the time since their last delivery, longest first. */
    WAIT,
    /** By deliveries, most first. */
    DELIVERED
  }

  /**
   * The statistics of a fairness key.
   *
   * @param fairnessKey the fairness key
   * @param depth all messages of the key
   * @param pending messages that wait for a consumer, a limit or the maximum in flight
   * @param inFlight messages that are delivered and not settled
   * @param delayed messages that cannot be delivered yet
   * @param weight the weight
   * @param delivered deliveries so far; starts again at 0 if the key was forgotten while it had no
   *     messages
   * @param waited the time since the last delivery, if messages are pending
   * @param throttled the limits that messages wait for
   */
  public record Row(
      String fairnessKey,
      long depth,
      long pending,
      long inFlight,
      long delayed,
      int weight,
      long delivered,
      Duration waited,
      List<FairnessKeyPage.Throttled> throttled) {}

  /**
   * The messages of a fairness key that wait for a limit.
   *
   * @param throttleKey the name of the limit
   * @param messages the number of messages
   * @param weight the sum of the weights of the keys of this queue that wait for the limit: the
   *     share of a key is its weight divided by this
   * @param nextGrantIn the time until the next grant; empty if time alone grants nothing
   */
  public record Throttled(
      String throttleKey, int messages, long weight, Optional<Duration> nextGrantIn) {}
}
