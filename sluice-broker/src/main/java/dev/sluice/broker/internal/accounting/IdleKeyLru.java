package dev.sluice.broker.internal.accounting;

import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Bounds the fairness keys without messages that all queues together remember: many queues with
 * {@link FairnessKeyTable#MAX_IDLE} each would fill the heap. Used by the thread of the state
 * machine alone.
 */
public final class IdleKeyLru {
  /** About 5 MB, with the longest keys. */
  public static final int MAX = 10_000;

  /** The key that has been idle for longest comes first. */
  private final Set<FairnessKeyCounters> all = new LinkedHashSet<>();

  /** Adds a key; beyond {@link #MAX} the one that has been idle for longest is forgotten. */
  void add(FairnessKeyCounters count) {
    all.add(count);
    if (all.size() > MAX) {
      FairnessKeyCounters oldest = all.iterator().next();
      oldest.home.forget(oldest);
    }
  }

  void remove(FairnessKeyCounters count) {
    all.remove(count);
  }

  public int size() {
    return all.size();
  }
}
