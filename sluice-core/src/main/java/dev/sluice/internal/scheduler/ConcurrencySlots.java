package dev.sluice.internal.scheduler;

/** The limit on the items of one fairness key in flight, and their number. */
final class ConcurrencySlots {
  final QueueState queue;
  final String key;
  private int limit;
  private int used;

  ConcurrencySlots(QueueState queue, String key, int limit) {
    this.queue = queue;
    this.key = key;
    this.limit = limit;
  }

  /** Sets the limit; items in flight beyond it keep their slots. */
  void setLimit(int max) {
    limit = max;
  }

  /** Counts an item in flight. */
  void occupy() {
    used++;
  }

  /** Counts the end of an item that {@link #occupy} counted. */
  void release() {
    used--;
  }

  int used() {
    return used;
  }

  boolean isFull() {
    return used >= limit;
  }
}
