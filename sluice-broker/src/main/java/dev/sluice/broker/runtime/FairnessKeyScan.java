package dev.sluice.broker.runtime;

import dev.sluice.broker.FairnessKeyPage;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.accounting.FairnessKeyCounters;
import dev.sluice.broker.engine.BrokerQueue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * All fairness keys of a queue, each as it stood when it was passed. The thread of the state
 * machine only takes their figures, and in pieces; to choose and to sort is for whoever asked.
 */
public final class FairnessKeyScan {
  /** Messages are delivered in between. */
  static final int PIECE = 2_000;

  /** More keys than these are dear to pass. */
  public static final int DEAR = 5_000;

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

  private FairnessKeyScan(BrokerQueue line, long now) {
    this.now = now;
    this.stats = line.stats(List.of(), now);
    this.active = line.keys.size();
    this.counts = line.keys.all();
    this.keys = new ArrayList<>(counts.length);
    pass(line);
  }

  public static FairnessKeyScan over(BrokerRuntime machinery, String queue) {
    FairnessKeyScan walk =
        machinery.ask(engine -> new FairnessKeyScan(engine.state.line(queue), engine.state.now));
    while (walk.keys.size() < walk.counts.length) {
      machinery.ask(engine -> walk.pass(engine.state.line(queue)));
    }
    return walk;
  }

  public boolean isDear() {
    return keys.size() > DEAR;
  }

  private FairnessKeyScan pass(BrokerQueue line) {
    int from = keys.size();
    int to = Math.min(from + PIECE, counts.length);
    for (int i = from; i < to; i++) {
      FairnessKeyCounters count = counts[i];
      if (count.pending() > 0) {
        waiting++;
        readyWeight += count.throttled && line.queue.isThrottled(count.key) ? 0 : count.weight;
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
