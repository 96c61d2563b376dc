package dev.sluice.broker.accounting;

import org.jspecify.annotations.Nullable;

/** What a queue has of one fairness key, and what it has had so far. */
public final class FairnessKeyCounters {
  public final String key;

  /** The keys of its queue. */
  final FairnessKeyTable home;

  // What it holds; `messages` counts everything.
  public long messages;
  public long leased;
  public long delayed;

  /** Handed to consumers, each time. */
  public long delivered;

  /** Broker time when something was last delivered, or when it came back from having nothing. */
  public long servedAt;

  /** That of the last message to come; what comes back changes nobody's weight. */
  public int weight = 1;

  /** Whether some message named throttle keys; without, nothing of it waits for any. */
  public boolean throttled;

  /** Its index among all of the queue. */
  int place;

  /** Whether it has had messages and has none. */
  boolean idle;

  // Neighbours among the idle ones, the longest so first.
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
