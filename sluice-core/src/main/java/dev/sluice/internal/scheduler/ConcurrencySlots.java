package dev.sluice.internal.scheduler;

/** The limit on the items of one fairness key in flight, and their number. */
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
