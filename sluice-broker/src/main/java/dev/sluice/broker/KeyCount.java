package dev.sluice.broker;

import org.jspecify.annotations.Nullable;

/** What a queue has of one fairness key, and what it has had so far. */
final class KeyCount {
  final String key;

  /** The keys of its queue. */
  final KeyCounts home;

  // What it holds; `messages` counts everything.
  long messages;
  long leased;
  long delayed;

  /** Handed to consumers, each time. */
  long delivered;

  /** Broker time when something was last delivered, or when it came back from having nothing. */
  long servedAt;

  /** That of the last message to come; what comes back changes nobody's weight. */
  int weight = 1;

  /** Whether some message named throttle keys; without, nothing of it waits for any. */
  boolean throttled;

  /** Its index among all of the queue. */
  int place;

  /** Whether it has had messages and has none. */
  boolean idle;

  // Neighbours among the idle ones, the longest so first.
  @Nullable KeyCount before;
  @Nullable KeyCount after;

  KeyCount(String key, KeyCounts home) {
    this.key = key;
    this.home = home;
  }

  /** Messages that a consumer could have, but for throttle keys and slots. */
  long pending() {
    return messages - leased - delayed;
  }
}
