package dev.sluice.internal.scheduler;

/** How many items of one fairness key may be in flight, and how many are. */
final class ConcurrencySlots {
  final QueueState queue;
  final String key;
  int limit;
  int used;

  ConcurrencySlots(QueueState queue, String key, int limit) {
    this.queue = queue;
    this.key = key;
    this.limit = limit;
  }

  boolean isFull() {
    return used >= limit;
  }
}
