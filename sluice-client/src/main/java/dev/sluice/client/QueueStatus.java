package dev.sluice.client;

import dev.sluice.proto.v1.GetQueueResponse;
import dev.sluice.proto.v1.QueueStats;
import java.util.List;

/**
 * Configuration and statistics of one queue.
 *
 * @param name the queue's name
 * @param config its configuration
 * @param revision changes with each change of the configuration; for {@link
 *     SluiceClient#updateQueue}
 * @param hookThrottleKeys patterns of the throttle keys that {@code on_enqueue} may name: the
 *     {@code limit} permissions of the key that set it; empty if there are none, or no such hook
 * @param depth all messages: ready, delayed and in flight
 * @param inFlight leased messages
 * @param delayed messages whose delay has not passed
 * @param consumers connected consumers
 * @param fairnessKeys fairness keys with waiting messages, the first 1,000 by name
 * @param totals counts since the server was started
 * @param unknownThrottleKeys messages so far that named a throttle key without a limit
 * @param lastUnknownThrottleKey the latest such key; empty if there was none
 * @since 0.1
 */
public record QueueStatus(
    String name,
    QueueConfig config,
    String revision,
    List<String> hookThrottleKeys,
    long depth,
    long inFlight,
    long delayed,
    int consumers,
    List<QueueStatus.FairnessKeyStats> fairnessKeys,
    QueueTotals totals,
    long unknownThrottleKeys,
    String lastUnknownThrottleKey) {
  /** Makes the lists immutable. */
  public QueueStatus {
    hookThrottleKeys = List.copyOf(hookThrottleKeys);
    fairnessKeys = List.copyOf(fairnessKeys);
  }

  /**
   * Statistics of one fairness key.
   *
   * @param fairnessKey the key
   * @param pending its waiting messages
   * @param weight its share of turns relative to other keys
   * @param deficit the cost that it may still spend in its turn
   */
  public record FairnessKeyStats(String fairnessKey, long pending, int weight, long deficit) {}

  static QueueStatus of(String name, GetQueueResponse wire) {
    QueueStats stats = wire.getStats();
    return new QueueStatus(
        name,
        new QueueConfig(wire.getConfig()),
        wire.getRevision(),
        wire.getHookThrottleKeysList(),
        stats.getDepth(),
        stats.getInFlight(),
        stats.getDelayed(),
        stats.getConsumers(),
        stats.getFairnessKeysList().stream()
            .map(
                key ->
                    new QueueStatus.FairnessKeyStats(
                        key.getFairnessKey(), key.getPending(), key.getWeight(), key.getDeficit()))
            .toList(),
        QueueTotals.of(stats.getTotals()),
        stats.getUnknownThrottleKeys(),
        stats.getLastUnknownThrottleKey());
  }
}
