package dev.sluice.broker;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * How the fairness keys of a queue stand: those that come first in some order, and sums over all.
 *
 * @param active keys of which the queue has messages
 * @param waiting keys of which something waits for a consumer
 * @param readyWeight the weights together of those that can go, which are these but for keys that
 *     only wait for throttle keys: the share of one that can go is its weight of it
 * @param matching keys that were asked for; also some that have no messages now
 * @param rows the first of them
 * @since 0.1
 */
public record FairnessKeyPage(
    long active, long waiting, long readyWeight, long matching, List<FairnessKeyPage.Row> rows) {
  /** Which keys come first. */
  public enum Order {
    /** Those with most messages. */
    DEPTH,
    /** Those that have waited longest without getting anything. */
    WAIT,
    /** Those that were given most. */
    DELIVERED
  }

  /**
   * How a key stands.
   *
   * @param fairnessKey the fairness key
   * @param depth the messages the queue holds of it, whatever they wait for
   * @param pending those that wait for a consumer, a throttle key or a slot
   * @param inFlight those that consumers have
   * @param delayed those that may not go before some time
   * @param weight its share
   * @param delivered handed to consumers so far, each time; begins anew if the key was forgotten,
   *     which may happen when it has no messages
   * @param waited since something of it was last delivered, if something is pending
   * @param throttled what some of them wait for
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
   * Messages that wait for a throttle key.
   *
   * @param throttleKey which
   * @param messages how many
   * @param weight the weights together of the keys of this queue that wait for it: of what it lets
   *     through, the share of one is its weight of it
   * @param nextGrantIn how long until it lets somebody go; empty if time alone does not do it
   */
  public record Throttled(
      String throttleKey, int messages, long weight, Optional<Duration> nextGrantIn) {}
}
