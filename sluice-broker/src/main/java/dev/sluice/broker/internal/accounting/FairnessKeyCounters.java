package dev.sluice.broker.internal.accounting;

import org.jspecify.annotations.Nullable;

/** Counts the messages of one fairness key of a queue, now and so far. */
public final class FairnessKeyCounters {
  public final String key;

  /** The keys of its queue. */
  final FairnessKeyTable home;

  // Messages now; `messages` counts all of them.
  public long messages;
  public long leased;
  public long delayed;

  /** Deliveries so far. */
  public long delivered;

  /** Broker time when something was last delivered, or when it came back from having nothing. */
  public long servedAt;

  /** The weight of the message enqueued last; returned messages do not change it. */
  public int weight = 1;

  /** Whether some message named throttle keys; without, nothing of it waits for any. */
  public boolean throttled;

  /** Its index among all of the queue. */
  int place;

  /** Whether it has had messages and has none. */
  boolean idle;

  // Neighbors among the idle ones, the longest so first.
  @Nullable FairnessKeyCounters before;
  @Nullable FairnessKeyCounters after;

  FairnessKeyCounters(String key, FairnessKeyTable home) {
    this.key = key;
    this.home = home;
  }

  /** Messages that a consumer could have, but for throttle keys and slots. */
  public long pending() {
    return messages - leased - delayed;
  }
}
