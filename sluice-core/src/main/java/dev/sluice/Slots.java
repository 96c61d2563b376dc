package dev.sluice;

/** How many items of one fairness key may be in flight, and how many are. */
final class Slots {
  final QueueState queue;
  final String key;
  int limit;
  int used;

  Slots(QueueState queue, String key, int limit) {
    this.queue = queue;
    this.key = key;
    this.limit = limit;
  }

  boolean isFull() {
    return used >= limit;
  }
}
