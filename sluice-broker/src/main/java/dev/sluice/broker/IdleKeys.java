package dev.sluice.broker;

import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Bounds the fairness keys without messages that all queues together remember: many queues with
 * {@link KeyCounts#MAX_IDLE} each would fill the heap. Used by the thread of the state machine
 * alone.
 */
final class IdleKeys {
  /** About 5 MB, with the longest keys. */
  static final int MAX = 10_000;

  /** The key that has been idle for longest comes first. */
  private final Set<KeyCount> all = new LinkedHashSet<>();

  /** Adds a key; beyond {@link #MAX} the one that has been idle for longest is forgotten. */
  void add(KeyCount count) {
    all.add(count);
    if (all.size() > MAX) {
      KeyCount oldest = all.iterator().next();
      oldest.home.forget(oldest);
    }
  }

  void remove(KeyCount count) {
    all.remove(count);
  }

  int size() {
    return all.size();
  }
}
