package dev.sluice.broker;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * All fairness keys of a queue, each as it stood when it was passed. The thread of the state
 * machine only takes their figures, and in pieces; to choose and to sort is for whoever asked.
 */
final class KeyWalk {
  /** Messages are delivered in between. */
  static final int PIECE = 2_000;

  /** More keys than these are dear to pass. */
  static final int DEAR = 5_000;

  /** The queue without its keys. */
  final QueueStats stats;

  /** Keys that have messages. */
  final long active;

  /** All of them, and those that are remembered. */
  final List<QueueKeys.Key> keys;

  /** Keys of which something waits. */
  long waiting;

  /** The weights of those that can go. */
  long readyWeight;

  private final KeyCount[] counts;
  private final long now;

  private KeyWalk(Line line, long now) {
    this.now = now;
    this.stats = line.stats(List.of(), now);
    this.active = line.keys.size();
    this.counts = line.keys.all();
    this.keys = new ArrayList<>(counts.length);
    pass(line);
  }

  static KeyWalk over(Machinery machinery, String queue) {
    KeyWalk walk = machinery.ask(engine -> new KeyWalk(engine.state.line(queue), engine.state.now));
    while (walk.keys.size() < walk.counts.length) {
      machinery.ask(engine -> walk.pass(engine.state.line(queue)));
    }
    return walk;
  }

  boolean isDear() {
    return keys.size() > DEAR;
  }

  private KeyWalk pass(Line line) {
    int from = keys.size();
    int to = Math.min(from + PIECE, counts.length);
    for (int i = from; i < to; i++) {
      KeyCount count = counts[i];
      if (count.pending() > 0) {
        waiting++;
        readyWeight += count.throttled && line.queue.isHeld(count.key) ? 0 : count.weight;
      }
      keys.add(key(count));
    }
    return this;
  }

  private QueueKeys.Key key(KeyCount count) {
    long pending = count.pending();
    return new QueueKeys.Key(
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
