package dev.sluice.client;

import dev.sluice.proto.v1.GetQueueResponse;
import dev.sluice.proto.v1.QueueStats;
import java.util.List;

/**
 * A queue as it is.
 *
 * @param name its name
 * @param settings how it behaves
 * @param revision changes with each change of the settings; for {@link SluiceClient#changeQueue}
 * @param depth messages in all, leased and delayed ones too
 * @param inFlight those that are leased
 * @param delayed those whose time has not come
 * @param consumers who takes messages
 * @param keys fairness keys of which something waits, the first 1,000 by name
 * @param totals what became of its messages so far
 * @param unknownThrottles messages so far that named a throttle key without a rate
 * @param unknownThrottleKey the latest such key; empty if there was none
 * @since 0.1
 */
public record QueueStatus(
    String name,
    QueueConfig settings,
    String revision,
    long depth,
    long inFlight,
    long delayed,
    int consumers,
    List<QueueStatus.FairnessKeyStats> keys,
    QueueTotals totals,
    long unknownThrottles,
    String unknownThrottleKey) {
  /** Makes the list immutable. */
  public QueueStatus {
    keys = List.copyOf(keys);
  }

  /**
   * A fairness key.
   *
   * @param key its name
   * @param pending how many messages of it wait
   * @param weight how many turns it has for one of weight 1
   * @param deficit what is left of its turn
   */
  public record FairnessKeyStats(String key, long pending, int weight, long deficit) {}

  static QueueStatus of(String name, GetQueueResponse wire) {
    QueueStats stats = wire.getStats();
    return new QueueStatus(
        name,
        new QueueConfig(wire.getConfig()),
        wire.getRevision(),
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
