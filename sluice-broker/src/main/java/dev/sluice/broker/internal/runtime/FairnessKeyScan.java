package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.FairnessKeyPage;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.internal.accounting.FairnessKeyCounters;
import dev.sluice.broker.internal.engine.BrokerQueue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects the figures of all fairness keys of a queue, in slices, on the thread of the engine. The
 * caller chooses and sorts.
 */
public final class FairnessKeyScan {
  /** The most keys of one slice. */
  static final int SLICE = 2_000;

  /** The number of keys above which a scan is expensive. */
  public static final int EXPENSIVE = 5_000;

  /** The queue without its keys. */
  public final QueueStats stats;

  /** Keys that have messages. */
  public final long active;

  /** All of them, and those that are remembered. */
  public final List<FairnessKeyPage.Row> keys;

  /** Keys of which something waits. */
  public long waiting;

  /** The weights of those that can go. */
  public long readyWeight;

  private final FairnessKeyCounters[] counts;
  private final long now;

  private FairnessKeyScan(BrokerQueue brokerQueue, long now) {
    this.now = now;
    this.stats = brokerQueue.stats(List.of(), now);
    this.active = brokerQueue.fairnessKeys.size();
    this.counts = brokerQueue.fairnessKeys.all();
    this.keys = new ArrayList<>(counts.length);
    scanSlice(brokerQueue);
  }

  public static FairnessKeyScan over(EngineCalls calls, String queue) {
    FairnessKeyScan scan =
        calls.query(engine -> new FairnessKeyScan(engine.state.queue(queue), engine.state.now));
    while (scan.keys.size() < scan.counts.length) {
      calls.query(engine -> scan.scanSlice(engine.state.queue(queue)));
    }
    return scan;
  }

  public boolean isExpensive() {
    return keys.size() > EXPENSIVE;
  }

  private FairnessKeyScan scanSlice(BrokerQueue brokerQueue) {
    int from = keys.size();
    int to = Math.min(from + SLICE, counts.length);
    for (int i = from; i < to; i++) {
      FairnessKeyCounters count = counts[i];
      if (count.pending() > 0) {
        waiting++;
        readyWeight +=
            count.throttled && brokerQueue.fairQueue.isThrottled(count.key) ? 0 : count.weight;
      }
      keys.add(key(count));
    }
    return this;
  }

  private FairnessKeyPage.Row key(FairnessKeyCounters count) {
    long pending = count.pending();
    return new FairnessKeyPage.Row(
        count.key,
        count.messages,
        pending,
        count.leased,
        count.delayed,
        count.weight,
        count.delivered,
        pending > 0 ? Duration.ofNanos(Math.max(0, now - count.servedAt)) : Duration.ZERO,
        List.of());
  }
}
